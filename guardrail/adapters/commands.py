"""Running a user's own command, and reading what it measured."""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from guardrail.errors import MeasurementError

OUTPUT = "{output}"
"""Stands in a command for a file of its own, which is read in place of standard output."""

_SHOWN_LINES = 5
_GRACE_SECONDS = 2.0
_ENDED_ELSEWHERE = 128


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended well."""

    text: str
    """What it wrote to `OUTPUT`, or printed where it does not name that."""
    seconds: float


def run_command(command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float) -> Ran:
    """Run a command, without a shell, in a process group of its own.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environment: The whole of its environment.
        timeout: Seconds after which it and all that it started are killed.

    Raises:
        MeasurementError: It cannot be started, takes too long, ends with an error or writes no output.
    """
    with tempfile.TemporaryDirectory(prefix="guardrail-") as scratch:
        written = Path(scratch, "output")
        words = [word.replace(OUTPUT, str(written)) for word in command]
        start = time.perf_counter()
        printed = _communicate(words, shlex.join(command), folder, environment, timeout)
        seconds = time.perf_counter() - start
        if not any(OUTPUT in word for word in command):
            return Ran(printed, seconds)
        try:
            return Ran(written.read_text(encoding="utf-8", errors="replace"), seconds)
        except OSError as error:
            reason = f"'{shlex.join(command)}' wrote no file {OUTPUT}: {error.strerror}"
            raise MeasurementError(reason) from error


def _communicate(
    words: Sequence[str], shown: str, folder: Path, environment: Mapping[str, str], timeout: float
) -> str:
    with _started(words, shown, folder, environment) as process:
        try:
            printed, complaints = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            _, complaints = process.communicate()
            reason = f"'{shown}' did not end within {timeout:g} s and was killed{_last_lines(complaints)}"
            raise MeasurementError(reason) from None
    if process.returncode < 0:
        name = signal.strsignal(-process.returncode) or f"signal {-process.returncode}"
        raise MeasurementError(
            f"'{shown}' was ended from outside or crashed: {name}{_last_lines(complaints)}"
        )
    if process.returncode:
        raise MeasurementError(
            f"'{shown}' ended with exit code {process.returncode}{_last_lines(complaints or printed)}"
        )
    return printed.decode(errors="replace")


@contextlib.contextmanager
def _started(
    words: Sequence[str], shown: str, folder: Path, environment: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a command, and leave nothing of it behind to keep the GPU busy, however the block ends."""
    process: subprocess.Popen[bytes] | None = None
    asked_to_end: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        asked_to_end.append(number)
        if process is not None:  # else it is just being started, and could not be killed
            raise SystemExit(_ENDED_ELSEWHERE + number)

    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, end) if in_main else None
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if asked_to_end:
            raise SystemExit(_ENDED_ELSEWHERE + asked_to_end[0])
        yield process
    except (OSError, ValueError) as error:
        if process is not None:
            raise
        raise MeasurementError(f"'{shown}' cannot be started: {_why(error, words[0])}") from error
    finally:
        if process is not None:
            _kill(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
        if in_main:
            signal.signal(signal.SIGTERM, before)


def _why(error: OSError | ValueError, program: str) -> str:
    if isinstance(error, FileNotFoundError) and error.filename == program:
        return f"there is no program {program!r}; for a command of a shell, begin it with sh -c"
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _last_lines(printed: bytes) -> str:
    lines = [line.strip() for line in printed.decode(errors="replace").splitlines() if line.strip()]
    if not lines:
        return "; it said nothing on standard error"
    return "; it said last: " + " | ".join(line[:200] for line in lines[-_SHOWN_LINES:])
