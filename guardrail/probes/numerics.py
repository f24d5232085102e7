"""Probe ``numerics``: every arm against an independent reference in higher precision."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from guardrail.families import Case, Operation
from guardrail.probes.interface import Context, Measured, Measuring, Probe
from guardrail.probes.references import modules_of, resolve
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Outcome, Task
from guardrail.spec.guards import Guard


class NumericsGuard(Guard):
    """A guard on what an operation's arms compute."""

    seeds: int = Field(1, ge=1, le=64, description="How many sets of random inputs each case is run on.")


class NumericsProbe(Probe[NumericsGuard]):
    """Runs every arm on the operation's cases, on random inputs, with outputs and scratch poisoned."""

    guard = NumericsGuard
    subjects = (Operation,)
    metrics = (
        Metric("relative_error", "ratio", "Largest ||out - ref|| / ||ref|| of the arm over cases and seeds."),
        Metric(
            "differing_elements", "elements", "Elements whose bytes differ between arms declared to be equal."
        ),
        Metric(
            "unwritten_outputs", "elements", "Output elements that still held poison after the arm had run."
        ),
        Metric("nonfinite_outputs", "elements", "Output elements that are NaN or infinite."),
    )

    def measure(self, guard: NumericsGuard, subject: Operation, context: Context) -> Measuring:
        """See `Probe.measure`."""
        if subject.needs_gpu and context.interpreted:
            return [Unmeasured(subject.needs_gpu, skipped=True)]
        (covering,) = yield [
            Task(
                function="guardrail.probes.numerics:covering_arms",
                arguments={"operation": subject},
                environment=Environment.HOST,
                modules=modules_of(subject.references),
            )
        ]
        if not isinstance(covering, Done):
            return [Unmeasured(covering.reason)]
        plan = [
            (case, arms, context.seed + offset)
            for case, arms in zip(subject.cases, covering.value, strict=True)
            for offset in range(guard.seeds)
        ]
        outcomes = yield [_task(subject, case, arms, seed) for case, arms, seed in plan]
        return _summarise(subject, plan, outcomes)


def covering_arms(operation: Operation) -> list[list[str]]:
    """Name, for each of an operation's cases, the arms that cover it completely."""
    units = resolve(operation.units)
    covered = {arm.name: resolve(arm.covered_units) for arm in operation.arms}
    return [[name for name in covered if covered[name](case) >= units(case)] for case in operation.cases]


def _task(operation: Operation, case: Case, arms: list[str], seed: int) -> Task:
    return Task(
        function="guardrail.adapters.trials:compare",
        arguments={"operation": operation, "case": dict(case), "arms": arms, "seed": seed},
        environment=Environment.EXECUTE,
        modules=modules_of(operation.references),
    )


def _summarise(
    operation: Operation, plan: Sequence[tuple[Case, list[str], int]], outcomes: Sequence[Outcome]
) -> Measured:
    """Reduce all runs to one measurement an arm and metric, with the worst run as evidence."""
    found: list[Measurement | Unmeasured] = []
    runs: dict[str, list[tuple[str, Mapping[str, Any]]]] = {arm.name: [] for arm in operation.arms}
    for (case, _, seed), outcome in zip(plan, outcomes, strict=True):
        label = ", ".join(f"{axis} {value}" for axis, value in case.items()) + f", seed {seed}"
        if isinstance(outcome, Done):
            for arm, result in outcome.value.items():
                runs[arm].append((label, result))
        else:
            found.append(Unmeasured(outcome.reason, {"case": label}))
    for arm in operation.arms:
        results = runs[arm.name]
        found += [
            Unmeasured(
                f"launched {result['launched']}, not {list(arm.launches)}", {"case": label, "arm": arm.name}
            )
            for label, result in results
            if result["launched"] != list(arm.launches)
        ]
        found.append(_worst_error(arm.name, results))
        for metric, key in (("unwritten_outputs", "unwritten"), ("nonfinite_outputs", "nonfinite")):
            found.append(
                _total(
                    metric, arm.name, [(label, result[key], result["elements"]) for label, result in results]
                )
            )
        twins = {other for one, other in operation.same_bits if one == arm.name}
        for twin in sorted(twins):
            pairs = [
                (label, result["differing"][twin], result["elements"])
                for label, result in results
                if twin in result["differing"]
            ]
            found.append(_total("differing_elements", f"{arm.name} and {twin}", pairs))
    return found


def _worst_error(arm: str, results: Sequence[tuple[str, Mapping[str, Any]]]) -> Measurement:
    """Take the largest error; one that is not a number is worse than any number."""
    errors = [(label, result["relative_error"]) for label, result in results]
    broken = [label for label, error in errors if error is None]
    if broken or not errors:
        findings = tuple(Finding(f"{label}: the error is not a number") for label in broken)
        return Measurement(
            "relative_error", "ratio", None, {"arm": arm}, inspected=len(errors), findings=findings
        )
    label, error = max(errors, key=lambda pair: pair[1])
    return Measurement(
        "relative_error",
        "ratio",
        error,
        {"arm": arm},
        inspected=len(errors),
        findings=(Finding(f"worst at {label}"),),
    )


def _total(metric: str, arm: str, rows: Sequence[tuple[str, int, int]]) -> Measurement:
    findings = tuple(
        Finding(f"{label}: {count} of {elements} elements") for label, count, elements in rows if count
    )
    total = sum(count for _, count, _ in rows)
    return Measurement(metric, "elements", total, {"arm": arm}, inspected=len(rows), findings=findings)
