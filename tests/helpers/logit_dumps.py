"""Dumps of logits made by hand."""

from pathlib import Path
from typing import Any

import numpy as np

from guardrail.adapters.logits.dump_files import write_dump
from guardrail.logits.dump import Dump, Identity

PROMPTS = ((3, 17),)


def identity(**changes: Any) -> Identity:
    """Describe a dump."""
    stated: dict[str, Any] = {"engine": "engine", "build": "sha256:00", "prompts": PROMPTS, "mode": "eager"}
    return Identity(**(stated | changes))


def dump(logits: Any, source: str = "a", tensors: Any = None, **changes: Any) -> Dump:
    """Make a dump of one or more rows of logits."""
    rows = np.atleast_2d(np.asarray(logits, dtype=np.float32))
    return Dump(source, rows, tensors or {}, identity(**changes))


def write(path: Path, logits: Any, tensors: Any = None, **changes: Any) -> Path:
    """Write a dump to a file."""
    made = dump(logits, **changes)
    assert made.identity is not None
    write_dump(path, made.logits, tensors or {}, made.identity)
    return path
