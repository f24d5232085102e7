"""The two sides of a comparison, and what they load."""

import hashlib
import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from guardrail.errors import MeasurementError, UsageError

Side = Literal["A", "B"]

_HASHED_BYTES = 1 << 28
"""Larger files, such as model weights, are known by size and time of change instead."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One command in its environment."""

    side: Side
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it gets besides the environment that both arms share."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file that an arm's command names: its program, its script, its input."""

    path: str
    fingerprint: str


def find_program(arm: Arm, shared: Mapping[str, str]) -> Path:
    """Find the program of an arm.

    Args:
        arm: The arm.
        shared: The environment that both arms share, in which programs are looked for.

    Raises:
        UsageError: There is no such program.
    """
    program = shutil.which(arm.command[0], path={**shared, **arm.environment}.get("PATH"))
    if program is None:
        raise UsageError(
            f"arm {arm.side}: there is no program {arm.command[0]!r}; to time an arm of an operation, "
            "family.operation:arm, say on which --case"
        )
    return Path(program)


def loaded_files(arm: Arm, shared: Mapping[str, str]) -> tuple[LoadedFile, ...]:
    """Find the program of an arm and every file among its arguments, with what they hold.

    Args:
        arm: The arm.
        shared: The environment that both arms share, in which programs are looked for.

    Raises:
        UsageError: There is no such program.
        MeasurementError: A file cannot be read.
    """
    paths = [
        find_program(arm, shared),
        *(Path(word) for word in arm.command[1:] if word and Path(word).is_file()),
    ]
    return tuple(LoadedFile(str(path), _fingerprint(path)) for path in paths)


def shown(arm: Arm) -> str:
    """Write an arm as a shell would take it."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in arm.environment.items()]
    return " ".join([*variables, shlex.join(arm.command)])


def changed_variables(arm: Arm, shared: Mapping[str, str]) -> dict[str, str]:
    """Give the variables in which an arm's environment differs from the shared one."""
    return {name: value for name, value in arm.environment.items() if shared.get(name) != value}


def identity(arm: Arm, loaded: tuple[LoadedFile, ...], shared: Mapping[str, str]) -> tuple[object, ...]:
    """Reduce an arm to what can make it differ: contents in place of the names of files.

    Args:
        arm: The arm.
        loaded: Its `loaded_files`.
        shared: The environment that both arms share.
    """
    contents = {file.path: file.fingerprint for file in loaded[1:]}
    words = [contents.get(str(Path(word)), word) if word else word for word in arm.command[1:]]
    return (loaded[0].fingerprint, tuple(words), tuple(sorted(changed_variables(arm, shared).items())))


def require_unchanged(arm: Arm, before: tuple[LoadedFile, ...], shared: Mapping[str, str]) -> None:
    """Refuse a comparison during which an arm was rebuilt.

    Raises:
        MeasurementError: One of its files holds something else now.
    """
    for was, now in zip(before, loaded_files(arm, shared), strict=True):
        if was != now:
            raise MeasurementError(f"arm {arm.side}: {was.path} changed while it was measured")


def _fingerprint(path: Path) -> str:
    try:
        status = path.stat()
        if status.st_size > _HASHED_BYTES:
            return f"{status.st_size} bytes of {status.st_mtime_ns}"
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise MeasurementError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
