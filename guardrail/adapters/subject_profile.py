"""Profiling a kernel or operation by its subject's name: one arm on one case, several calls.

``python -m guardrail.adapters.subject_profile REQUEST`` makes the same calls without a profiler of its own,
for ncu to look at.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from guardrail import registry
from guardrail.adapters.device import executing_gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.nsight import profile_with_ncu
from guardrail.adapters.subject_calls import chosen_cases, find_arm, prepared_calls
from guardrail.adapters.workers import WorkerPool
from guardrail.errors import MeasurementError
from guardrail.families import Case, Family, Kernel, Operation
from guardrail.probes.references import modules_of
from guardrail.records.launch import Trace
from guardrail.records.task import Done, Environment, Task
from guardrail.traces.saved import restore_trace

_CALLS = 20


@dataclass(frozen=True, slots=True)
class SubjectRequest:
    """Which calls to make."""

    subject: str
    case: tuple[str, ...] = ()
    """``axis=value`` words, or the name of a timed case; the operation's last timed case where empty."""
    arm: str | None = None
    """The first one that covers the case where None."""
    calls: int | None = None
    """20 where None; only what has calls to make may be asked for a number."""

    @property
    def made(self) -> int:
        """Count the calls to make."""
        return self.calls or _CALLS


def profile_subject(request: SubjectRequest, counters: Sequence[str] = ()) -> Trace:
    """Run an arm on this machine's GPU and record what it launched.

    Args:
        request: Which calls to make.
        counters: Hardware counters by ncu's names; torch's profiler records where there are none.

    Returns:
        The launches of those calls, those of one kernel where the subject is a kernel.

    Raises:
        UsageError: There is no such subject, case or arm.
        MeasurementError: There is no GPU, no operation launches the kernel, or the calls failed.
    """
    operation, kernel = _operation(request.subject)
    cases = chosen_cases(operation, request.case)
    if request.arm is not None:
        find_arm(operation, request.arm)
    gpu = executing_gpu()
    if gpu is None:
        raise MeasurementError(
            f"{request.subject}: there is no GPU here that torch can use, and a time in Triton's interpreter "
            "says nothing; 'guardrail resources' compiles and reads kernels without one"
        )
    lock = GpuLock(gpu.uuid, sys.stderr)
    if counters:
        command = [sys.executable, "-m", "guardrail.adapters.subject_profile", json.dumps(asdict(request))]
        with lock.held():
            trace = profile_with_ncu(command, counters, ["--profile-from-start", "off"])
        trace = replace(trace, source=request.subject)
    else:
        trace = _profile_in_worker(request, operation, cases, lock)
    launches = [launch for launch in trace.launches if kernel in (None, launch.name)]
    if not launches:
        raise MeasurementError(f"{request.subject}: ran, and none of its kernels was recorded")
    return replace(trace, launches=tuple(launches))


def _profile_in_worker(
    request: SubjectRequest, operation: Operation, cases: Sequence[Case], lock: GpuLock
) -> Trace:
    task = Task(
        function="guardrail.adapters.subject_calls:run_profiled",
        arguments={
            "operation": operation,
            "cases": list(map(dict, cases)),
            "arm": request.arm,
            "calls": request.made,
        },
        environment=Environment.EXECUTE,
        modules=modules_of(operation.references),
    )
    ((_, outcome),) = WorkerPool([str(Path.cwd())], 1, interpreted=False, gpu_lock=lock).run([task])
    if not isinstance(outcome, Done):
        raise MeasurementError(f"{request.subject}: {outcome.reason}")
    return replace(restore_trace(outcome.value), source=request.subject)


def _operation(name: str) -> tuple[Operation, str | None]:
    """Find the operation to run, and the symbol to show alone where a kernel was named."""
    if str(Path.cwd()) not in sys.path:
        # A user's family is imported by name from where the command is given.
        sys.path.insert(0, str(Path.cwd()))
    known = registry.families()
    subject = registry.find_subject(name, known, (Kernel, Operation))
    if isinstance(subject, Operation):
        return subject, None
    assert isinstance(subject, Kernel)
    return _launching(subject, registry.find_family(name, known)), subject.name


def _launching(kernel: Kernel, family: Family) -> Operation:
    """Find an operation that launches a kernel, and leave it the arms that do."""
    # A case of real size first: the others are small enough for an interpreter.
    operations = sorted(family.operations, key=lambda operation: not operation.timed_cases)
    for operation in (*(recording.operation for recording in kernel.recordings), *operations):
        arms = tuple(arm for arm in operation.arms if kernel.name in arm.launches)
        if arms:
            return replace(operation, arms=arms)
    raise MeasurementError(
        f"no operation of family {family.name} launches {kernel.name}, so guardrail cannot call it; profile "
        "a script that does"
    )


def _call_for_ncu(request: Mapping[str, Any]) -> None:
    """Make the calls between the profiler's start and stop; what prepares them stays outside."""
    import torch

    asked = SubjectRequest(**{**request, "case": tuple(request["case"])})
    operation, _ = _operation(asked.subject)
    _, _, launch = prepared_calls(operation, chosen_cases(operation, asked.case), asked.arm)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    for _ in range(asked.made):
        launch()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    os.environ.pop("TRITON_INTERPRET", None)
    _call_for_ncu(json.loads(sys.argv[1]))
