"""Probe ``dispatch``: which arm a gate picks, and whether that arm does all of the work."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field

from guardrail.families import Gate, ModelProfile
from guardrail.probes.interface import Context, Measured, Measuring, Probe
from guardrail.probes.references import modules_of
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Outcome, Task
from guardrail.spec.guards import Guard


class DispatchGuard(Guard):
    """A guard on a gate."""

    models: list[str] = Field(default=[], description="Model profiles whose cases the gate must serve.")


class DispatchProbe(Probe[DispatchGuard]):
    """Enumerates a gate's whole domain, then executes the arms it picks around every bound."""

    guard = DispatchGuard
    subjects = (Gate,)
    metrics = (
        Metric("uncovered_units", "units", "Work that the picked arms declare not to cover, over all cases."),
        Metric("arms_never_taken", "arms", "Arms that the gate picks for no case of its domain."),
        Metric(
            "unexplained_cases",
            "cases",
            "Cases on a slower arm though a faster one covers them, without a reason.",
        ),
        Metric("undeclared_cases", "cases", "Cases that a model needs and the gate's domain leaves out."),
        Metric("dropped_units", "units", "Work that the picked arms left out when executed."),
        Metric("doubled_units", "units", "Work that the picked arms did more than once when executed."),
        Metric(
            "unwritten_outputs", "elements", "Output elements that still held poison after the arm had run."
        ),
        Metric(
            "arms_not_reached", "runs", "Runs in which other kernels were launched than the picked arm's."
        ),
    )

    def measure(self, guard: DispatchGuard, subject: Gate, context: Context) -> Measuring:
        """See `Probe.measure`."""
        if subject.operation.needs_gpu and context.interpreted:
            return [Unmeasured(subject.operation.needs_gpu, skipped=True)]
        models = [context.models[name] for name in guard.models]
        (surveyed,) = yield [_survey_task(subject, models, context)]
        if not isinstance(surveyed, Done):
            return [Unmeasured(surveyed.reason)]
        found: Mapping[str, Any] = surveyed.value
        outcomes = yield [_run_task(subject, run, context) for run in found["runs"]]
        return [*_declared(subject, found), *_executed(subject, found, outcomes)]


def _survey_task(gate: Gate, models: Sequence[ModelProfile], context: Context) -> Task:
    return Task(
        function="guardrail.probes.gate_survey:survey",
        arguments={"gate": gate, "models": models, "interpreted": context.interpreted},
        environment=Environment.HOST,
        modules=modules_of(gate.references),
    )


def _run_task(gate: Gate, run: Mapping[str, Any], context: Context) -> Task:
    return Task(
        function="guardrail.adapters.trials:expose",
        arguments={"operation": gate.operation, "case": run["case"], "arm": run["arm"]},
        environment=Environment.EXECUTE,
        modules=modules_of(gate.operation.references),
    )


def _declared(gate: Gate, found: Mapping[str, Any]) -> Iterable[Measurement]:
    """Measure what follows from the declarations alone."""
    unit, models = gate.operation.work_unit, found["models"]
    uncovered = [
        (row, _share(row, row["units"] - row["covered"], row["units"], unit, "dropped"))
        for row in found["uncovered"]
    ]
    unexplained = [
        (
            row,
            f"{_place(row)}: the faster {row['faster']} covers it and no reason is stated",
        )
        for row in found["unexplained"]
    ]
    undeclared = [(row, f"{row['label']} is not in the gate's domain") for row in found["undeclared"]]
    never = [
        Finding(f"arm {arm} is taken for none of {found['cases']} cases") for arm in found["never_taken"]
    ]
    dropped = sum(row["units"] - row["covered"] for row in found["uncovered"])
    for metric, unit_name, value, findings in (
        ("uncovered_units", "units", dropped, _by_model(uncovered, models)),
        ("unexplained_cases", "cases", len(unexplained), _by_model(unexplained, models)),
        ("undeclared_cases", "cases", len(undeclared), _by_model(undeclared, models)),
        ("arms_never_taken", "arms", len(never), tuple(never)),
    ):
        yield Measurement(metric, unit_name, value, inspected=found["cases"], findings=findings)


def _executed(gate: Gate, found: Mapping[str, Any], outcomes: Sequence[Outcome]) -> Measured:
    """Measure what the arms did when they were run."""
    unit, models = gate.operation.work_unit, found["models"]
    launches = {arm.name: list(arm.launches) for arm in gate.operation.arms}
    runs = [
        (run, outcome.value)
        for run, outcome in zip(found["runs"], outcomes, strict=True)
        if isinstance(outcome, Done)
    ]
    failures: list[Unmeasured] = [
        Unmeasured(outcome.reason, {"case": run["label"], "arm": run["arm"]})
        for run, outcome in zip(found["runs"], outcomes, strict=True)
        if not isinstance(outcome, Done)
    ]
    counted: list[Measurement] = []
    for metric, key, verb in (
        ("dropped_units", "dropped", "dropped"),
        ("doubled_units", "doubled", "done twice"),
    ):
        rows = [
            (run, _share(run, seen[key], seen["units"], unit, f"{verb} when executed"))
            for run, seen in runs
            if seen[key]
        ]
        total = sum(seen[key] for _, seen in runs)
        counted.append(
            Measurement(metric, "units", total, inspected=len(runs), findings=_by_model(rows, models))
        )
    unwritten = [
        (
            run,
            f"{_place(run)}: {seen['unwritten']} of {seen['elements']} output elements unwritten",
        )
        for run, seen in runs
        if seen["unwritten"]
    ]
    astray = [
        (
            run,
            f"{_place(run)}: launched {_names(seen['launched'])}, not {_names(launches[run['arm']])}",
        )
        for run, seen in runs
        if seen["launched"] != launches[run["arm"]]
    ]
    counted += [
        Measurement(
            "unwritten_outputs",
            "elements",
            sum(seen["unwritten"] for _, seen in runs),
            inspected=len(runs),
            findings=_by_model(unwritten, models),
        ),
        Measurement(
            "arms_not_reached", "runs", len(astray), inspected=len(runs), findings=_by_model(astray, models)
        ),
    ]
    return [*counted, *failures]


def _share(row: Mapping[str, Any], part: int, whole: int, unit: str, verb: str) -> str:
    return f"{_place(row)}: {part} of {whole} {unit}s {verb} ({part / whole:.1%})"


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['label']}, arm {row['arm']}"


def _names(symbols: Sequence[str]) -> str:
    return " + ".join(symbols) or "nothing"


def _by_model(rows: Sequence[tuple[Mapping[str, Any], str]], models: Sequence[str]) -> tuple[Finding, ...]:
    """Put the cases that a model needs first, and sum up those that only the domain holds."""
    concerned = {name for row, _ in rows for name in row["models"]}
    untouched = [name for name in models if name not in concerned]
    suffix = f"; {', '.join(untouched)} untouched" if untouched and concerned else ""
    findings = [
        Finding(f"{sentence}, models {', '.join(row['models'])}{suffix}", tuple(row["models"]))
        for row, sentence in rows
        if row["models"]
    ]
    others = [(row, sentence) for row, sentence in rows if not row["models"]]
    if others:
        findings.append(Finding(others[0][1]))
    if len(others) > 1:
        first, last = others[1][0]["label"], others[-1][0]["label"]
        span = first if first == last else f"{first} to {last}"
        findings.append(Finding(f"and {len(others) - 1} more in the gate's domain ({span})"))
    return tuple(findings)
