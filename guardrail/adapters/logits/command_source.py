"""Dumps that a command of the user's leaves in a folder."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.adapters.commands import run_command
from guardrail.adapters.device import executing_gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.logits.dump_files import Layout, as_logits
from guardrail.adapters.logits.formats import SUFFIXES, Contents, read_file
from guardrail.adapters.logits.sources import Dumped, file_hash, surroundings
from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.dump import LOGITS, Identity

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST_STEP_NAMES = (LOGITS, "logits_decode")
"""Names under which logits are looked for, where none is stated."""

_CLOCK_TICK_NS = 20_000_000


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command, and how to read what it leaves."""

    command: str
    folder: Path
    layout: Layout
    prompts: Sequence[Sequence[int]] | None
    step: int
    timeout: float


def dump_command(request: CommandRequest) -> Dumped:
    """Run a command and read every tensor that it leaves in a folder.

    Raises:
        UsageError: The command or the folder cannot be one, or a shape is stated for logits that have one.
        MeasurementError: The command fails, or leaves no logits, or files are older than its run.
    """
    words = _words(request.command)
    if request.folder.exists() and not request.folder.is_dir():
        raise UsageError(f"--folder {request.folder}: this is a file, not a folder")
    gpu = executing_gpu()
    begun = surroundings(gpu)
    start = time.time_ns()
    with GpuLock(gpu.uuid, sys.stderr).held() if gpu else nullcontext():
        run_command(words, Path.cwd(), os.environ, request.timeout)
    tensors, raw = _read_folder(request.folder, start)
    name = _logits_name(tensors, request)
    what = f"{request.folder}: {name}"
    if name not in raw:
        request.layout.refuse_unused(what)
    logits = as_logits(tensors.pop(name), request.layout.raw_shape, what)
    identity = Identity(
        engine=request.command,
        build=_build(words),
        prompts=None if request.prompts is None else tuple(map(tuple, request.prompts)),
        step=request.step,
        provenance=begun,
    )
    return Dumped(logits, identity, tensors)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--command {command!r}: {error}") from error
    if not words:
        raise UsageError("--command: expected a program and its arguments")
    return words


def _build(words: Sequence[str]) -> str:
    """Hash the program and every file among its arguments: of a script, the interpreter says nothing."""
    named = (shutil.which(words[0]) or words[0], *words[1:])
    return file_hash(*(Path(word) for word in named if Path(word).is_file()))


def _read_folder(folder: Path, since_ns: int) -> "tuple[dict[str, NDArray[Any]], set[str]]":
    """Read every file of a known format; one that was there before the run is another run's.

    Returns:
        Tensors by name, and the names of those that a raw file holds.
    """
    paths = sorted(path for path in folder.glob("*") if path.suffix in SUFFIXES and path.is_file())
    if not paths:
        raise MeasurementError(
            f"the command left no {', '.join(SUFFIXES)} file in {folder}; have it write its dump there"
        )
    for path in paths:
        # A file system's clock may tick more coarsely than the process's own.
        if path.stat().st_mtime_ns < since_ns - _CLOCK_TICK_NS:
            raise MeasurementError(
                f"{path} was there before the command ran, so it is another run's; empty the folder first"
            )
    tensors: dict[str, NDArray[Any]] = {}
    raw: set[str] = set()
    for path in paths:
        contents = read_file(path)
        named = _named(path, contents)
        raw |= set() if contents.has_shapes else named.keys()
        for name, array in named.items():
            if name in tensors:
                raise MeasurementError(f"{folder}: two files hold a tensor {name!r}; leave one of them")
            tensors[name] = array
    return tensors, raw


def _named(path: Path, contents: Contents) -> "Mapping[str, NDArray[Any]]":
    """Name the tensors of a file by it, and by their own names where it has several."""
    found = contents.tensors
    return {f"{path.stem}.{name}" if name and len(found) > 1 else path.stem: found[name] for name in found}


def _logits_name(tensors: Mapping[str, Any], request: CommandRequest) -> str:
    stated = request.layout.tensor
    names = [stated] if stated else [name for name in _FIRST_STEP_NAMES if name in tensors]
    if not names and len(tensors) == 1:
        names = list(tensors)
    if len(names) != 1 or names[0] not in tensors:
        raise MeasurementError(
            f"{request.folder}: which tensor holds the logits? Name one with --tensor; it has "
            f"{', '.join(sorted(tensors))}"
        )
    return names[0]
