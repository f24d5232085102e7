"""Probe ``timing``: GPU time of an operation's arms on cases of real size, cold and hot."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from guardrail.families import Case, Operation
from guardrail.probes import timing_counters
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.references import modules_of, resolve
from guardrail.probes.timing_results import METRICS, NEED_WORK, RATE_OF, measurements
from guardrail.probes.timing_session import Session, TimingPlan
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.guards import Guard
from guardrail.spec.limits import limits_at

_SETUP_SECONDS = 240.0


class TimingGuard(Guard):
    """A guard on how fast an operation's arms are."""

    cases: Annotated[list[str], Field(min_length=1)] = Field(
        description="Timed cases of the operation, by name."
    )
    devices: list[str] = Field(default=[], description="Device profiles that the bounds are anchored on.")
    arms: list[str] = Field(default=[], description="Arms to time; where empty, all that cover a case.")
    cache: Annotated[list[Literal["cold", "hot"]], Field(min_length=1)] = Field(
        default=["cold"], description="Whether calls find their data in the L2 (hot) or not (cold)."
    )
    captured: bool = Field(False, description="Whether calls are replayed from a CUDA graph.")
    calls: int = Field(10, ge=1, le=1000, description="Calls of each arm and case in one window.")
    relative_error: float = Field(
        1e-3, gt=0, description="Largest accepted error of the timed calls' own outputs."
    )
    confidence: float = Field(
        0.999, gt=0.5, lt=1, description="Probability that no interval misses the true median."
    )
    budget_seconds: float = Field(
        10.0, gt=0, le=600, description="Time after which no window is added to an unclear verdict."
    )
    steady_arm: str | None = Field(
        None,
        description="An arm, not judged itself, that must not move: windows in which it does are left out.",
    )
    steady_within: float = Field(
        0.02, gt=0, lt=1, description="How far the steady arm may be off its median, as a fraction."
    )
    metrics: dict[str, timing_counters.CounterChoice] = Field(
        default={}, description="Hardware counters to bound, by names of the guard's own; they need ncu."
    )


class TimingProbe(Probe[TimingGuard]):
    """Times arms in windows, interleaved, until every bound is clear or the budget ends."""

    guard = TimingGuard
    subjects = (Operation,)
    metrics = (*METRICS, *timing_counters.METRICS)
    names_metrics = True

    def measure(self, guard: TimingGuard, subject: Operation, context: Context) -> Measuring:
        """See `Probe.measure`."""
        device = _device(guard, context)
        if isinstance(device, Unmeasured):
            return [device]
        if fault := _fault(guard, subject):
            return [Unmeasured(fault)]
        cases = {name: subject.timed_cases[name] for name in guard.cases}
        references = modules_of(subject.references)
        (covering,) = yield [
            Task(
                "guardrail.probes.timing:covering_arms",
                {"operation": subject, "cases": cases},
                Environment.HOST,
                references,
            )
        ]
        if not isinstance(covering, Done):
            return [Unmeasured(covering.reason)]
        plan = _plan(guard, subject, covering.value, device)
        if uncovered := [name for name, arms in plan.arms.items() if not arms]:
            return [Unmeasured(f"no arm that the guard times covers {', '.join(uncovered)}")]
        counted = timing_counters.wanted(guard.require, guard.metrics)
        # Counters alone need no windows.
        timing = [_timing_task(plan, references)] if len(counted) < len(guard.require) else []
        outcomes = yield [*timing, *timing_counters.tasks(plan, counted, references)]
        measured: list[Measurement | Unmeasured] = []
        for outcome in outcomes[: len(timing)]:
            measured += (
                measurements(Session.from_plain(outcome.value), device)
                if isinstance(outcome, Done)
                else [Unmeasured(outcome.reason)]
            )
        return [*measured, *timing_counters.measurements(plan, counted, outcomes[len(timing) :], device)]


def covering_arms(operation: Operation, cases: Mapping[str, Case]) -> dict[str, list[str]]:
    """Name, for each case, the arms that cover it completely."""
    units = resolve(operation.units)
    covered = {arm.name: resolve(arm.covered_units) for arm in operation.arms}
    return {
        name: [arm for arm in covered if covered[arm](case) >= units(case)] for name, case in cases.items()
    }


def _device(guard: TimingGuard, context: Context) -> str | Unmeasured:
    """Name the machine's GPU by its profile, or say why the guard is not for it."""
    if context.gpu_name is None:
        return Unmeasured("there is no GPU to time on", skipped=True)
    profile = next(
        (name for name, device in context.devices.items() if device.device_name == context.gpu_name), None
    )
    chosen = context.device and context.device.name
    if guard.devices and (profile not in guard.devices or chosen not in (None, profile)):
        covered = ", ".join(guard.devices)
        return Unmeasured(f"its bounds are anchored on {covered}, not on {context.gpu_name}", skipped=True)
    return profile or context.gpu_name


def _fault(guard: TimingGuard, operation: Operation) -> str | None:
    """Say what of the guard the operation does not have."""
    arms = [arm.name for arm in operation.arms]
    known = ", ".join(operation.timed_cases) or "none"
    for name in guard.cases:
        if name not in operation.timed_cases:
            return f"cases: operation {operation.name} has no timed case {name!r}; it has: {known}"
    for name in (*guard.arms, *filter(None, [guard.steady_arm])):
        if name not in arms:
            return f"arms: operation {operation.name} has no arm {name!r}; it has: {', '.join(arms)}"
    needs = NEED_WORK & set(guard.require)
    if needs and operation.work is None:
        return f"{', '.join(sorted(needs))}: operation {operation.name} does not declare its work"
    return None


def _plan(
    guard: TimingGuard, operation: Operation, covering: Mapping[str, Sequence[str]], device: str
) -> TimingPlan:
    wanted = guard.arms or [arm.name for arm in operation.arms if arm.name != guard.steady_arm]
    return TimingPlan(
        operation=operation,
        cases={name: operation.timed_cases[name] for name in guard.cases},
        arms={name: tuple(arm for arm in arms if arm in wanted) for name, arms in covering.items()},
        caches=tuple(guard.cache),
        rates=tuple(rate for metric, rate in RATE_OF.items() if metric in guard.require),
        captured=guard.captured,
        calls=guard.calls,
        relative_error=guard.relative_error,
        confidence=guard.confidence,
        budget_seconds=guard.budget_seconds,
        limits={
            metric: tuple(float(limit.value) for limit in limits_at(bound, {"device": device}))
            for metric, bound in guard.require.items()
        },
        steady={name: arm for name, arms in covering.items() for arm in arms if arm == guard.steady_arm},
        steady_within=guard.steady_within,
    )


def _timing_task(plan: TimingPlan, references: tuple[str, ...]) -> Task:
    return Task(
        "guardrail.adapters.timing:time_arms",
        {"plan": plan},
        Environment.EXECUTE,
        references,
        timeout=_SETUP_SECONDS + 2 * plan.budget_seconds,
        reusable=False,
    )
