"""The text of a user's file, or the reason why it cannot be had."""

import os
import re
from pathlib import Path

from guardrail.spec.faults import ConfigurationError, Fault

MAX_BYTES = 1 << 20

UNPRINTABLE = re.compile(
    r"[^\t\n\r -~\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
"""Characters that no report should be handed: controls, Unicode's line breaks, and those that turn the
reading direction and so make a reviewed file show what it does not say."""


def folder_of(path: Path) -> Path:
    """Find the folder that a file really lies in; links that form a circle are for reading to refuse."""
    return Path(os.path.realpath(path)).parent


def read_text(path: Path, expected: str) -> str:
    """Read a small UTF-8 file.

    Args:
        path: The file.
        expected: What should be there, as a clause that ends the message about a missing file.

    Returns:
        Its text, without a byte-order mark.

    Raises:
        ConfigurationError: It is missing, a folder, unreadable, larger than 1 MiB, or not text.
    """

    def refuse(message: str, line: int | None = None) -> ConfigurationError:
        return ConfigurationError([Fault(str(path), line, message)])

    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise refuse(f"there is no such file; {expected}") from None
    except IsADirectoryError:
        raise refuse(f"this is a folder, not a file; {expected}") from None
    except OSError as error:
        raise refuse(f"the file cannot be read: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        raise refuse("the file is larger than 1 MiB; a file written by hand is not")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refuse("the file is not UTF-8 text; save it as UTF-8", line) from None
    if found := UNPRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise refuse(f"the file holds the control character {found.group()!r}; it must be text", line)
    return text
