"""Hardware counters as metrics of the timing probe, read by Nsight Compute."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from guardrail.probes.timing_session import TimingPlan
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Outcome, Task
from guardrail.spec.fields import Strict

METRICS = (
    Metric("achieved_occupancy", "ratio", "Resident warps over those that an SM has room for, by ncu."),
)

_TIMEOUT = 300.0


class CounterChoice(Strict):
    """A hardware counter that a guard bounds."""

    counter: Annotated[str, Field(pattern=r"^\w+(\.\w+)+$")] = Field(
        description="ncu's name of it: dram__bytes_read.sum. Sums add up over a call's kernels, others are "
        "weighted by their time."
    )
    unit: str = Field("", description="Its base unit, for reports.")


@dataclass(frozen=True, slots=True)
class Counted:
    """A metric that comes from a hardware counter."""

    metric: str
    unit: str
    counter: str
    factor: float = 1.0
    """From the counter's base unit to the metric's."""


_OWN = {
    "achieved_occupancy": Counted(
        "achieved_occupancy", "ratio", "sm__warps_active.avg.pct_of_peak_sustained_active", 0.01
    )
}


def wanted(bounded: Iterable[str], named: Mapping[str, CounterChoice]) -> list[Counted]:
    """List the bounded metrics that are counters: the probe's own, and those that the guard names."""
    known = _OWN | {name: Counted(name, choice.unit, choice.counter) for name, choice in named.items()}
    return [known[metric] for metric in bounded if metric in known]


def tasks(plan: TimingPlan, counted: Sequence[Counted], modules: tuple[str, ...]) -> list[Task]:
    """Ask for the counters of one call at each place of a plan; for none where no metric needs them."""
    return [
        Task(
            "guardrail.adapters.ncu_counters:count",
            {
                "operation": plan.operation,
                "case": dict(plan.cases[case]),
                "arm": arm,
                "cache": cache,
                "counters": [each.counter for each in counted],
            },
            Environment.EXECUTE,
            modules,
            timeout=_TIMEOUT,
            reusable=False,
        )
        for case, arm, cache in _places(plan)
        if counted
    ]


def measurements(
    plan: TimingPlan, counted: Sequence[Counted], outcomes: Sequence[Outcome], device: str
) -> list[Measurement | Unmeasured]:
    """Turn what ncu counted into measurements."""
    found: list[Measurement | Unmeasured] = []
    if not counted:
        return found
    for (case, arm, cache), outcome in zip(_places(plan), outcomes, strict=True):
        where = {"device": device, "case": case, "arm": arm, "cache": cache}
        if isinstance(outcome, Done):
            found += [_measurement(each, outcome.value, where) for each in counted]
        else:
            found.append(Unmeasured(outcome.reason, where))
    return found


def _measurement(
    counted: Counted, kernels: Sequence[Mapping[str, float]], where: Mapping[str, str]
) -> Measurement:
    adds_up = counted.counter.endswith(".sum")
    how = "added up" if adds_up else "weighted by their time"
    finding = Finding(f"{counted.counter} of {len(kernels)} kernels, {how}")
    value = None
    if all(counted.counter in kernel for kernel in kernels):
        weights = [1.0 if adds_up else kernel["duration_ns"] for kernel in kernels]
        total = sum(weight * kernel[counted.counter] for weight, kernel in zip(weights, kernels, strict=True))
        value = counted.factor * (total if adds_up else total / sum(weights))
    return Measurement(
        counted.metric, counted.unit, value, where, inspected=len(kernels), findings=(finding,)
    )


def _places(plan: TimingPlan) -> list[tuple[str, str, str]]:
    return [(case, arm, cache) for case, arms in plan.arms.items() for arm in arms for cache in plan.caches]
