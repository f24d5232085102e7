"""Counting what kernels read while Triton interprets them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from triton.runtime.interpreter import InterpreterBuilder


@dataclass(slots=True)
class Read:
    """What was read so far."""

    bytes: int = 0


@contextlib.contextmanager
def counted_reads() -> Iterator[Read]:
    """Count the bytes of every load in the block; lanes that load the same count once, masked ones do not."""
    read = Read()
    load = InterpreterBuilder.create_masked_load

    def counting(builder: InterpreterBuilder, pointers: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        result = load(builder, pointers, mask, *rest, **named)
        read.bytes += np.unique(pointers.data[mask.data]).size * result.data.itemsize
        return result

    with patch.object(InterpreterBuilder, "create_masked_load", counting):
        yield read
