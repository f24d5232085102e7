"""Markdown that shows text from outside as it is, and fits a size."""

import html
import re
from collections.abc import Sequence

from guardrail.reporters.text import one_line, shortened

_ACTIVE = re.compile(r"([\\`*_\[\]#|~])")
_TEXT_LENGTH = 2000


def escaped(text: str) -> str:
    """Put text on one line in which no character acts as Markdown, as HTML or as the end of a table cell."""
    plain = shortened(one_line(text), _TEXT_LENGTH)
    text = _ACTIVE.sub(r"\\\1", html.escape(plain, quote=False))
    return text.replace("$", "<span>$</span>")  # a bare dollar sign would begin a formula


def truncated(blocks: Sequence[str], limit: int) -> str:
    """Join as many whole blocks as fit, and say how many are left out.

    Args:
        blocks: Pieces of Markdown that are not cut within, each ending in a newline.
        limit: Bytes of UTF-8 that the result may have.

    Returns:
        The blocks up to the first that does not fit.
    """
    text = "".join(blocks)
    if len(text.encode()) <= limit:
        return text
    room = limit - len(_notice(len(blocks)).encode())
    shown: list[str] = []
    for block in blocks:
        room -= len(block.encode())
        if room < 0:
            break
        shown.append(block)
    return "".join(shown) + _notice(len(blocks) - len(shown))


def _notice(left: int) -> str:
    return (
        f"\n**Cut here: {left} more entries do not fit into this summary. The JSON report has everything.**\n"
    )
