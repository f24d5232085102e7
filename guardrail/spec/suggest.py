"""Near misses among known names."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_LISTED = 20


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Point from an unknown name to known ones.

    Args:
        word: What the user wrote.
        known: The names that would have been accepted.

    Returns:
        ``"; did you mean 'x'?"`` where one is close, else ``"; known: a, b"``, else nothing.
    """
    names = sorted(known)
    if close := get_close_matches(word, names, n=1):
        return f"; did you mean {close[0]!r}?"
    if not names:
        return ""
    listed = ", ".join(names[:MAX_LISTED])
    more = len(names) - MAX_LISTED
    return f"; known: {listed} and {more} more" if more > 0 else f"; known: {listed}"


def shortened(text: str, length: int = 60) -> str:
    """Quote a user's text on one line, without what exceeds a length."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")
