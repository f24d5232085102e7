"""Calls of one arm of an operation on one case: which ones, and what they launched."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from guardrail.errors import MeasurementError, UsageError
from guardrail.families import Arm, Case, Operation
from guardrail.families.interface import Scalar
from guardrail.probes.references import resolve
from guardrail.records.launch import Trace
from guardrail.traces.saved import plain_trace

_LEAD_IN = 20
"""Kernels at the start of a session, where profilers have lost some."""


def chosen_cases(operation: Operation, words: Sequence[str]) -> list[Case]:
    """List the cases that the words of ``--case`` describe.

    Args:
        operation: The operation to run.
        words: The name of a timed case and ``axis=value``, which changes an axis of it.

    Returns:
        Cases in the order of preference: the one described; without words every timed one, the last first,
        or where none is timed the cases of the other probes.

    Raises:
        UsageError: A word is neither, or names an axis that no case of the operation has.
    """
    names = [word for word in words if "=" not in word]
    for name in names:
        if name not in operation.timed_cases:
            known = ", ".join(operation.timed_cases) or "none"
            raise UsageError(
                f"--case {name}: operation {operation.name} has no such case (it has: {known}), and it is no "
                "axis=value"
            )
    declared = [*operation.cases, *operation.timed_cases.values()]
    if not declared:
        raise UsageError(f"operation {operation.name} declares no case to run")
    if not words:
        return [*reversed([*operation.timed_cases.values()])] or [*reversed(operation.cases)]
    base = operation.timed_cases[names[-1]] if names else declared[-1]
    axes = dict(word.split("=", 1) for word in words if "=" in word)
    known_axes = list(dict.fromkeys(axis for case in declared for axis in case))
    for axis in axes:
        if axis not in known_axes:
            raise UsageError(f"--case {axis}={axes[axis]}: expected one of the axes {', '.join(known_axes)}")
    return [{**base, **{axis: _scalar(value) for axis, value in axes.items()}}]


def find_arm(operation: Operation, name: str) -> Arm:
    """Find an arm by its name.

    Raises:
        UsageError: The operation has no such arm.
    """
    for arm in operation.arms:
        if arm.name == name:
            return arm
    names = ", ".join(arm.name for arm in operation.arms)
    raise UsageError(f"--arm {name}: operation {operation.name} has the arms {names}")


def covered_case(operation: Operation, cases: Sequence[Case], arms: Sequence[Arm]) -> tuple[Case, Arm]:
    """Pick the first case that an arm covers completely, and the first arm that does.

    Raises:
        MeasurementError: No arm covers a case.
    """
    for case in cases:
        units = resolve(operation.units)(case)
        for arm in arms:
            if resolve(arm.covered_units)(case) >= units:
                return case, arm
    tried = ", ".join(arm.name for arm in arms)
    raise MeasurementError(
        f"{operation.name}: none of the arms {tried} covers {' or '.join(str(dict(case)) for case in cases)}"
    )


def prepared_calls(
    operation: Operation, cases: Sequence[Case], name: str | None
) -> tuple[Case, Arm, Callable[[], None]]:
    """Build a trial and launch once, so that no compilation falls into what is recorded.

    Returns:
        The case, the arm, and what makes one more call of it.
    """
    case, arm = covered_case(
        operation, cases, operation.arms if name is None else (find_arm(operation, name),)
    )
    trial = resolve(operation.random)(case, 0, "cuda")
    trial.launch(arm.name)
    return case, arm, lambda: trial.launch(arm.name)


def run_profiled(operation: Operation, cases: list[Case], arm: str | None, calls: int) -> dict[str, Any]:
    """Record the calls of one arm on the first case that it covers. Runs in an execute worker.

    Returns:
        The trace as plain data.
    """
    import torch

    from guardrail.adapters.kineto import profiled
    from guardrail.adapters.timing_kernels import guardrail_lead_in

    case, chosen, launch = prepared_calls(operation, cases, arm)
    word = torch.zeros(1, dtype=torch.int32, device="cuda")
    guardrail_lead_in[(1,)](word)

    def body() -> None:
        for _ in range(_LEAD_IN):
            guardrail_lead_in[(1,)](word)
        for _ in range(calls):
            launch()

    trace = profiled(body)
    kept = (launch for launch in trace.launches if launch.name != guardrail_lead_in.__name__)
    trace = replace(trace, launches=tuple(kept))
    return plain_trace(replace(trace, notes=(*_notes(operation, case, chosen, calls, trace), *trace.notes)))


def _notes(operation: Operation, case: Case, arm: Arm, calls: int, trace: Trace) -> list[str]:
    """Say what was run, what the profiler lost, and the rate of the declared work."""
    shape = ", ".join(f"{axis} {value}" for axis, value in case.items())
    notes = [f"{operation.name}, arm {arm.name}, {shape}: {calls} calls on the same buffers, L2 not flushed"]
    names = [launch.name.partition("(")[0] for launch in trace.launches]
    for symbol in dict.fromkeys(arm.launches):
        expected, seen = calls * arm.launches.count(symbol), names.count(symbol)
        if seen != expected:
            notes.append(f"{symbol}: {seen} launches were recorded, and {expected} were expected")
    call_ns = sum(launch.duration_ns for launch in trace.launches) / calls
    if operation.work is not None and call_ns:
        work = resolve(operation.work)(case, arm.name)
        notes.append(
            f"a call takes {call_ns / 1e3:,.2f} µs on average: {work.content_bytes / call_ns:,.1f} GB/s of "
            f"the content that it must move, {work.operations / call_ns / 1e3:,.2f} TOP/s"
        )
    return notes


def _scalar(text: str) -> Scalar:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, int | float | bool | str) else text
