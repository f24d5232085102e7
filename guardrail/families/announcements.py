"""Kernels that are not launched through Triton, told to whoever counts launches."""

import contextlib
from collections.abc import Callable, Iterator

Listener = Callable[[str], None]

_listeners: list[Listener] = []


def announce(symbol: str) -> None:
    """Tell that a kernel is launched; a family's own launcher calls this, and Triton's need not.

    Args:
        symbol: The kernel's symbol, as its arm states it.
    """
    for listener in _listeners:
        listener(symbol)


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a listener for every kernel that is announced inside the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
