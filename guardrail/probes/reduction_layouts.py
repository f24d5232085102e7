"""Probe ``reduction_layouts``: whether builds add floating-point numbers in the same order. Needs no GPU."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from guardrail.compiled.reductions import Reduction
from guardrail.families import Twin, Twins
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.references import modules_of
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.guards import Guard

_COMMUTATIVE = 2
"""Elements whose sum has the same bits in either order, so that their layout does not matter."""


class ReductionLayoutsGuard(Guard):
    """A guard on builds that must give the same bits."""

    archs: list[str] = Field(min_length=1, description="Architectures to compile for.")


class ReductionLayoutsProbe(Probe[ReductionLayoutsGuard]):
    """Compiles twins and compares their floating-point reductions with those of the first."""

    guard = ReductionLayoutsGuard
    subjects = (Twins,)
    metrics = (
        Metric(
            "differing_reduction_layouts",
            "layouts",
            "Floating-point sums of a twin over other elements, or over more than two in another layout.",
        ),
    )

    def measure(self, guard: ReductionLayoutsGuard, subject: Twins, context: Context) -> Measuring:
        """See `Probe.measure`."""
        pairs = [(arch, twin) for arch in guard.archs for twin in subject.twins]
        outcomes = yield [_task(twin, arch) for arch, twin in pairs]
        found: list[Measurement | Unmeasured] = []
        first: dict[str, Sequence[Reduction]] = {}
        for (arch, twin), outcome in zip(pairs, outcomes, strict=True):
            label = {"kernel": _name(twin), "build": twin.build.name, "arch": arch}
            if not isinstance(outcome, Done):
                found.append(Unmeasured(outcome.reason, label))
                continue
            rounded = _rounded(outcome.value)
            reference = first.setdefault(arch, rounded)
            if twin is not subject.twins[0]:
                found.append(_compare(reference, rounded, label, _name(subject.twins[0])))
        return found

    def narrowed(self, guard: ReductionLayoutsGuard, context: Context) -> ReductionLayoutsGuard:
        """See `Probe.narrowed`: one architecture shows whether a bound works."""
        return guard.model_copy(update={"archs": guard.archs[:1]})


def _task(twin: Twin, arch: str) -> Task:
    return Task(
        "guardrail.adapters.triton_compiler:read_reductions",
        {"function": twin.function, "build": twin.build, "arch": arch},
        Environment.COMPILE,
        modules_of((twin.function,)),
    )


def _rounded(rows: Sequence[Mapping[str, Any]]) -> list[Reduction]:
    """Pick the reductions whose order shows in their result; workers hand tuples back as lists."""
    reductions = (
        Reduction(**{**row, "operations": tuple(row["operations"]), "shape": tuple(row["shape"])})
        for row in rows
    )
    return [found for found in reductions if found.is_rounded]


def _compare(
    reference: Sequence[Reduction], twin: Sequence[Reduction], label: Mapping[str, str], first: str
) -> Measurement:
    differing = [
        (position, one, other)
        for position, (one, other) in enumerate(zip(reference, twin, strict=False))
        if _order(one) != _order(other)
    ]
    findings = [
        Finding(f"sum {position} is over {other.layout}, that of {first} over {one.layout}")
        for position, one, other in differing
    ]
    surplus = abs(len(twin) - len(reference))
    if surplus:
        findings.append(Finding(f"{len(twin)} sums, {first} has {len(reference)}"))
    return Measurement(
        "differing_reduction_layouts",
        "layouts",
        len(differing) + surplus,
        label,
        inspected=len(reference) + len(twin),
        findings=tuple(findings),
    )


def _order(found: Reduction) -> tuple[object, ...]:
    """Give what the order of a reduction's additions follows from."""
    layout = found.layout if found.extent > _COMMUTATIVE else ""
    return (found.axis, found.operations, found.shape, found.element, layout)


def _name(twin: Twin) -> str:
    return twin.function.rpartition(":")[2]
