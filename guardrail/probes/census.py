"""Probe ``census``: which arms the calls of a finished run took."""

from pathlib import Path
from typing import Any

from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import MeasurementError
from guardrail.families import CensusRecord, Taken, load_census
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.guards import Guard


class CensusGuard(Guard):
    """A guard on the census of a run."""


class CensusProbe(Probe[CensusGuard]):
    """Reads a census that a run wrote."""

    guard = CensusGuard
    subjects = (FileSubject,)
    metrics = (
        Metric("calls", "calls", "Calls that the run made."),
        Metric(
            "eligible_2d", "calls", "Calls that policy admits to the fast arm and that ran on the 2D arm."
        ),
        Metric("breaches", "calls", "Calls that policy admits and a buffer could not hold."),
        Metric("stock_calls", "calls", "Calls that were left to the engine's own kernels."),
    )

    def measure(self, guard: CensusGuard, subject: FileSubject, context: Context) -> Measuring:
        """See `Probe.measure`."""
        (outcome,) = yield [
            Task("guardrail.probes.census:read_census", {"subject": subject}, Environment.HOST)
        ]
        if not isinstance(outcome, Done):
            return [Unmeasured(outcome.reason)]
        found = outcome.value
        return [
            Measurement(
                metric.name, metric.unit, found[metric.name], inspected=found["calls"],
                findings=tuple(Finding(sentence) for sentence in found["sentences"].get(metric.name, ())),
            )
            for metric in self.metrics
        ]  # fmt: skip


def read_census(subject: FileSubject) -> dict[str, Any]:
    """Read a census.

    Args:
        subject: The file; its hash makes the outcome cacheable.

    Returns:
        Plain data: a number for each metric of the probe, and ``sentences`` behind them by metric.

    Raises:
        MeasurementError: The file cannot be read or is no census.
    """
    try:
        text = Path(subject.path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MeasurementError(f"{subject.path}: cannot read this census: {error}") from error
    record = load_census(text, subject.path)
    return {
        "calls": record.calls,
        "eligible_2d": record.eligible_2d,
        "breaches": record.breaches,
        "stock_calls": sum(row.calls for row in record.left_to_stock),
        "sentences": {
            "eligible_2d": _sentences(record.missed),
            "breaches": _first_breach(record),
            "stock_calls": _sentences(record.left_to_stock),
        },
    }


def _sentences(rows: tuple[Taken, ...]) -> list[str]:
    return [
        f"{row.calls} calls of {row.query_len} query tokens: {', '.join(row.reasons) or 'no reason stated'}"
        for row in rows
    ]


def _first_breach(record: CensusRecord) -> list[str]:
    if record.first_breach is None:
        return []
    return ["first: " + ", ".join(f"{name} {value}" for name, value in record.first_breach.items())]
