"""Probe ``capacity``: whether a planned buffer holds every batch that an engine may admit."""

from typing import Any

from pydantic import Field

from guardrail.families import ModelProfile, Plan
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.references import modules_of, resolve
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.guards import Guard


class CapacityGuard(Guard):
    """A guard on a plan."""

    models: list[str] = Field(default=[], description="Model profiles whose row size is measured.")


class CapacityProbe(Probe[CapacityGuard]):
    """Enumerates every configuration of a plan and every batch shape it may admit."""

    guard = CapacityGuard
    subjects = (Plan,)
    metrics = (
        Metric("violations", "batches", "Admissible batches that need more rows than the plan allocates."),
        Metric("row_bytes", "bytes", "Size of one row of the buffer, for each model."),
    )

    def measure(self, guard: CapacityGuard, subject: Plan, context: Context) -> Measuring:
        """See `Probe.measure`."""
        modules = modules_of(subject.references)
        models = [context.models[name] for name in guard.models]
        violations, sizes = yield [
            Task("guardrail.probes.capacity:count_violations", {"plan": subject}, Environment.HOST, modules),
            Task(
                "guardrail.probes.capacity:row_sizes",
                {"plan": subject, "models": models},
                Environment.HOST,
                modules,
            ),
        ]
        if not isinstance(violations, Done):
            return [Unmeasured(violations.reason)]
        if not isinstance(sizes, Done):
            return [Unmeasured(sizes.reason)]
        counted = violations.value
        return [
            Measurement(
                "violations",
                "batches",
                counted["violations"],
                inspected=counted["batches"],
                findings=tuple(Finding(sentence) for sentence in counted["examples"]),
            ),
            *(Measurement("row_bytes", "bytes", size, {"model": name}) for name, size in sizes.value.items()),
        ]


_EXAMPLES = 3


def count_violations(plan: Plan) -> dict[str, Any]:
    """Compare the planned rows with what each admissible batch needs, over all configurations.

    Returns:
        Plain data: ``configurations`` and ``batches`` examined, ``violations``, and up to three ``examples``.
    """
    capacity, demands = resolve(plan.capacity), resolve(plan.demands)
    configurations = batches = violations = 0
    examples: list[str] = []
    for configuration in resolve(plan.configurations)():
        configurations += 1
        rows = capacity(configuration)
        for batch, needed in demands(configuration):
            batches += 1
            if needed > rows:
                violations += 1
                if len(examples) < _EXAMPLES:
                    axes = ", ".join(f"{axis} {value}" for axis, value in configuration.items())
                    examples.append(f"{axes}: batch {batch} needs {needed} rows of {rows}")
    if violations:
        examples.append(f"{violations} of {batches} batches over {configurations} configurations")
    return {
        "configurations": configurations,
        "batches": batches,
        "violations": violations,
        "examples": examples,
    }


def row_sizes(plan: Plan, models: list[ModelProfile]) -> dict[str, int]:
    """Compute the bytes of one row for each model, by the model's name."""
    row_bytes = resolve(plan.row_bytes)
    return {model.name: row_bytes(model) for model in models}
