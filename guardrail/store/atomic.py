"""Files that are the old one or the new one at every moment, and one writer at a time."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock until the block ends, or until the process does.

    The folder itself is locked: a lock file would be left behind, and would make a checkout dirty.

    Raises:
        OSError: The folder cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file, or make it, so that a reader or a crash finds the old content or the new one.

    What a killed writer left behind is overwritten, so only one may be at work: see `locked`.

    Raises:
        OSError: It cannot be written; the old file is as it was.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("wb") as stream:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(stream.fileno(), path.stat().st_mode & 0o7777)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
