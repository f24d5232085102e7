"""How much of a text repeats itself, which is what a collapsed generation does."""

from collections.abc import Sequence

_WINDOW = 4
"""Tokens that are compared together: fewer repeat in any text, more miss short loops."""


def repeated_share(tokens: Sequence[int]) -> float | None:
    """Compute the share of a text's windows of four tokens that occurred in it before.

    Text that repeats one token or a few comes close to 1; prose stays near 0.

    Args:
        tokens: Token ids in their order.

    Returns:
        1 - distinct windows / windows; None where there is no window.
    """
    windows = [tuple(tokens[at : at + _WINDOW]) for at in range(len(tokens) - _WINDOW + 1)]
    return 1 - len(set(windows)) / len(windows) if windows else None
