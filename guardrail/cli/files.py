"""Files that a command writes beside what it prints."""

import os
from pathlib import Path

from guardrail.errors import UsageError
from guardrail.store.atomic import locked, write_atomically


def write_whole(path: Path, text: str, option: str) -> None:
    """Write a file of which a reader finds all or, as on a full disk, the old content.

    Args:
        path: The file; a link is followed, and a device or pipe is written to as it is.
        text: What it is to hold.
        option: The option that names it, for the message.

    Raises:
        UsageError: It cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.is_file() or not os.path.lexists(target):
            with locked(target.parent):
                write_atomically(target, text.encode())
        else:
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot write: {error.strerror}") from error
