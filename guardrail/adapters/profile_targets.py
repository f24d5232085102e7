"""What the target of ``guardrail profile`` is, and how it is profiled."""

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from guardrail.adapters.device import executing_gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.nsight import profile_command, profile_with_ncu
from guardrail.adapters.profilers import profile_python, read_report
from guardrail.adapters.subject_profile import SubjectRequest, profile_subject
from guardrail.errors import UsageError
from guardrail.records.launch import Trace
from guardrail.registry import families
from guardrail.traces.detect import EXPECTED as REPORTS

_REPORT_SUFFIXES = (".csv", ".db", ".gz", ".hatchet", ".json", ".ncu-rep", ".nsys-rep", ".sqlite", ".txt")
_EXPECTED = (
    "a bundled or your own kernel or operation (family.name, module:FAMILY.name), a Python script or "
    f"-m module, a command behind --, or a saved report: {REPORTS}"
)


@dataclass(frozen=True, slots=True)
class TargetRequest:
    """What to profile, and how."""

    words: tuple[str, ...]
    """The target and its arguments; arguments alone where `module` is given."""
    module: str | None = None
    subject: SubjectRequest = field(default_factory=lambda: SubjectRequest(""))
    """Case, arm and calls, for a target that is a subject."""
    counters: tuple[str, ...] = ()


def profile_target(request: TargetRequest) -> Trace:
    """Profile a subject, a script, a module or a command, or read a report.

    Raises:
        UsageError: The target is none of these, or cannot have what is asked for it.
        ToolMissingError: A profiler that it needs is not installed.
        MeasurementError: It could not be profiled.
        NothingReadError: A report holds no work of a GPU.
    """
    if request.module is not None:
        _refuse_subject_options(request, f"module {request.module}")
        with _gpu_to_itself():
            return _python(request.module, request.words, request.counters, is_module=True)
    if not request.words:
        raise UsageError(f"nothing to profile; expected {_EXPECTED}")
    target, arguments = request.words[0], request.words[1:]
    path = Path(target)
    if _exists(path):
        _refuse_subject_options(request, target)
        return _file(path, arguments, request.counters)
    if shutil.which(target):
        _refuse_subject_options(request, target)
        with _gpu_to_itself():
            return profile_command(request.words, request.counters)
    if "/" in target or path.suffix in (".py", *_REPORT_SUFFIXES):
        raise UsageError(f"{target}: no such file; expected {_EXPECTED}")
    if arguments:
        raise UsageError(
            f"{target}: neither a file nor a command on PATH, and a kernel takes no arguments; "
            f"expected {_EXPECTED}"
        )
    if not {".", ":"} & set(target) and target not in families():
        raise UsageError(f"{target}: no file, no command on PATH and no family; expected {_EXPECTED}")
    return profile_subject(replace(request.subject, subject=target), request.counters)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _file(path: Path, arguments: Sequence[str], counters: Sequence[str]) -> Trace:
    if path.suffix == ".py":
        with _gpu_to_itself():
            return _python(str(path), arguments, counters, is_module=False)
    if path.is_file() and os.access(path, os.X_OK) and path.suffix not in _REPORT_SUFFIXES:
        with _gpu_to_itself():
            return profile_command((str(path.resolve()), *arguments), counters)
    if arguments:
        raise UsageError(f"{path}: a saved report takes no arguments, and {arguments[0]!r} is one")
    return read_report(path)


def _python(target: str, arguments: Sequence[str], counters: Sequence[str], *, is_module: bool) -> Trace:
    if not counters:
        return profile_python(target, arguments, is_module=is_module)

    return profile_with_ncu((sys.executable, *(("-m",) if is_module else ()), target, *arguments), counters)


def _gpu_to_itself() -> AbstractContextManager[None]:
    """Wait for other guardrail runs on this GPU: two would measure each other."""
    gpu = executing_gpu()
    return nullcontext() if gpu is None else GpuLock(gpu.uuid, sys.stderr).held()


def _refuse_subject_options(request: TargetRequest, target: str) -> None:
    subject = request.subject
    options = (("--case", subject.case), ("--arm", subject.arm), ("--calls", subject.calls))
    given = [option for option, value in options if value]
    if given:
        raise UsageError(f"{given[0]}: only a kernel or an operation has it, and {target} is none")
