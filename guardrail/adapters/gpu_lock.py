"""One run at a time on a GPU: two would measure each other."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO


class GpuLock:
    """A lock that every guardrail process of this host takes before it runs anything on a GPU.

    It is the kernel's lock on a file, so it ends with its holder, however that ends.

    Args:
        uuid: The GPU, as its driver names it.
        messages: Where a wait is announced, once.
        folder: Where the lock file lies; the folder for temporary files, which all users share, where None.
    """

    def __init__(self, uuid: str, messages: TextIO, folder: Path | None = None) -> None:
        self._uuid = uuid
        self._messages = messages
        self._path = (folder or Path(tempfile.gettempdir())) / f"guardrail-{uuid}.lock"
        self._announced = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for a block, after waiting for as long as another process holds it."""
        descriptor = self._open()
        try:
            self._acquire(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _acquire(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not self._announced:
                self._messages.write(
                    f"guardrail: another run measures on GPU {self._uuid}; waiting until it ends\n"
                )
                self._messages.flush()
                self._announced = True
            fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _open(self) -> int:
        """Open the file for reading, which is all that a lock needs: it may be another user's."""
        try:
            return os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return os.open(self._path, os.O_RDONLY | os.O_CREAT, 0o644)
