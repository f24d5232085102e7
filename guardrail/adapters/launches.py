"""Recording which Triton kernels are launched, interpreted or on a GPU."""

import contextlib
from collections.abc import Iterator
from typing import Any

from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction


@contextlib.contextmanager
def recorded() -> Iterator[list[str]]:
    """Collect the symbol of every kernel launched inside the block, in order.

    Triton's own launch hooks are silent in its interpreter, so the one method that every launch goes through is
    wrapped for both kinds of function.
    """
    symbols: list[str] = []
    originals = [(kind, kind.run) for kind in (JITFunction, InterpretedFunction)]

    def recording(original: Any) -> Any:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not kwargs.get("warmup"):
                symbols.append(self.fn.__name__)
            return original(self, *args, **kwargs)

        return run

    for kind, original in originals:
        kind.run = recording(original)
    try:
        yield symbols
    finally:
        for kind, original in originals:
            kind.run = original
