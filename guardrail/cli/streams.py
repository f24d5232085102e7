"""Standard output and error where nobody reads them, or where no more can be written."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from guardrail.errors import UsageError


class Reports(io.TextIOWrapper):
    """Standard output, which a full disk is told of by its name."""

    def write(self, text: str, /) -> int:
        """See `io.TextIOWrapper.write`."""
        with self._named():
            return super().write(text)

    def flush(self) -> None:
        """See `io.TextIOWrapper.flush`."""
        with self._named():
            super().flush()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            silence(self)
            raise UsageError(f"standard output: cannot write: {error.strerror}") from error


class Messages(io.TextIOWrapper):
    """Standard error: what cannot be written goes nowhere, and changes no exit code."""

    def write(self, text: str, /) -> int:
        """See `io.TextIOWrapper.write`."""
        try:
            return super().write(text)
        except OSError:
            silence(self)
            return len(text)

    def flush(self) -> None:
        """See `io.TextIOWrapper.flush`."""
        try:
            super().flush()
        except OSError:
            silence(self)


def take_over() -> None:
    """Make standard output and error what is described here, in UTF-8 where they go to pipes and files.

    A stream that the caller has closed goes nowhere, and no character fails that a terminal does not have.
    """
    sys.stdout = _as(Reports, sys.stdout)
    sys.stderr = _as(Messages, sys.stderr)


@contextlib.contextmanager
def reader_may_leave(stream: TextIO) -> Iterator[None]:
    """Go on where whoever read a stream has gone, which is no reason to lose a verdict."""
    try:
        yield
    except BrokenPipeError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Let what a stream still holds, and all that is written to it later, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _as(kind: type[Reports | Messages], stream: TextIO | None) -> TextIO:
    if stream is None:
        nowhere = io.FileIO(os.devnull, "w")
        return kind(io.BufferedWriter(nowhere), encoding="utf-8")
    on_a_terminal = stream.isatty()
    return kind(
        stream.buffer,
        encoding=stream.encoding if on_a_terminal else "utf-8",
        errors="backslashreplace",
        line_buffering=on_a_terminal or kind is Messages,
    )
