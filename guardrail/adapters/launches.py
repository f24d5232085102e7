"""Observing kernel launches: Triton's, interpreted or on a GPU, and those that are announced."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from guardrail.families.announcements import listening

Observer = Callable[[Any, tuple[Any, ...], dict[str, Any]], None]
"""Called with the launched function, its positional and its keyword arguments."""


@contextlib.contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Call an observer before every kernel launch inside the block.

    Triton's own launch hooks are silent in its interpreter, so the one method that every launch goes through
    is wrapped for both kinds of function.
    """
    originals = [(kind, kind.run) for kind in (JITFunction, InterpretedFunction)]

    def observing(original: Any) -> Any:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not kwargs.get("warmup"):
                observer(self, args, kwargs)
            return original(self, *args, **kwargs)

        return run

    for kind, original in originals:
        kind.run = observing(original)
    try:
        yield
    finally:
        for kind, original in originals:
            kind.run = original


@contextlib.contextmanager
def recorded() -> Iterator[list[str]]:
    """Collect the symbol of every kernel launched inside the block, in order."""
    symbols: list[str] = []
    with (
        observed(lambda function, _args, _kwargs: symbols.append(function.fn.__name__)),
        listening(symbols.append),
    ):
        yield symbols
