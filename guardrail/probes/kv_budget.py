"""Probe ``kv_budget``: how many tokens an engine's start left room for, and what took the rest."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from guardrail.compiled.file_subject import FileSubject
from guardrail.kvlog.causes import causes, first_cause, what_is_left
from guardrail.kvlog.compare import compare, counterpart
from guardrail.kvlog.reading import Reading
from guardrail.kvlog.saved import read_startup
from guardrail.kvlog.startup import Startup, Worker
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.engine_files import is_engine_file
from guardrail.spec.guards import Guard

_READING = "guardrail.probes.kv_budget:read_budget"
_BOOTING = "guardrail.adapters.vllm_engine.startup:boot_and_read_budget"
_LONGEST_READING = 300.0
_LONGEST_BOOTS = 86_400.0
"""Seconds; each boot has a limit of its own."""

_COMPARED = ("unplanned_load_bytes", "unplanned_kv_bytes")
_PLANNED = "scratch_at_load_bytes"
_OF_SCRATCH = ("scratch_at_load_bytes", "scratch_after_profile_bytes", "adopted")
_CAUSED = ("kv_tokens", "available_bytes", "bytes_per_token", "concurrency", *_COMPARED)
"""Metrics that follow from others, so that their evidence says from which."""
_COUNTED = ("unknown_variables", "late_compilations")
_FOLLOWING = ("kv_tokens", "available_bytes", "concurrency")
"""Those of them whose verdict begins with the first cause."""


class KvBudgetGuard(Guard):
    """A guard on the KV budget of an engine's start."""

    against: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="Log or engine of the start to compare with, a file relative to the guards file."
    )
    planned_bytes: int | None = Field(
        None,
        description="What a worker is to take more than in that start; its scratch at load where left out.",
    )
    ignore: list[
        Literal["vllm", "model", "kv_cache_dtype", "max_model_len", "utilization", "compile_cache"]
    ] = Field(default=[], description="Settings in which the two starts may differ.")

    @model_validator(mode="after")
    def _compares_something(self) -> "KvBudgetGuard":
        if self.against is None:
            for metric in _COMPARED:
                if metric in self.require:
                    raise ValueError(f"{metric} compares two starts; name the other one under 'against'")
            if self.planned_bytes is not None or self.ignore:
                raise ValueError("'planned_bytes' and 'ignore' go with 'against' only")
        return self


class KvBudgetProbe(Probe[KvBudgetGuard]):
    """Reads the budget of a start from its log, worker by worker, or boots the engine for it."""

    guard = KvBudgetGuard
    subjects = (FileSubject,)
    metrics = (
        Metric("available_bytes", "bytes", "Memory that a worker has for the KV cache."),
        Metric("kv_tokens", "tokens", "Tokens that an engine's KV cache holds."),
        Metric("bytes_per_token", "bytes", "Memory for the KV cache over its tokens."),
        Metric("concurrency", "requests", "Requests of the longest length that the KV cache holds."),
        Metric("model_load_bytes", "bytes", "What loading the model took of a worker, scratch included."),
        Metric("activation_peak_bytes", "bytes", "Largest transient memory of the profiled step."),
        Metric("graph_estimate_bytes", "bytes", "Estimate of what captured graphs take."),
        Metric("graph_actual_bytes", "bytes", "What captured graphs took."),
        Metric("graph_unbudgeted_bytes", "bytes", "What they took beyond the estimate in the budget."),
        Metric("scratch_at_load_bytes", "bytes", "Attention scratch that the budget knows of."),
        Metric("scratch_after_profile_bytes", "bytes", "Attention scratch that the budget does not know of."),
        Metric("adopted", "builders", "Metadata builders that use scratch which was there already."),
        Metric("requested_utilization", "ratio", "Share of the device that was asked for."),
        Metric("effective_utilization", "ratio", "That share less the estimate of captured graphs."),
        Metric("unknown_variables", "variables", "Environment variables of vLLM's that it does not know."),
        Metric(
            "late_compilations", "kernels", "Kernels that were compiled after the start, as requests waited."
        ),
        Metric(
            "unplanned_load_bytes", "bytes", "Growth of loading over the other start, less what was planned."
        ),
        Metric(
            "unplanned_kv_bytes", "bytes", "Loss of the KV cache to the other start, less what was planned."
        ),
    )

    def measure(self, guard: KvBudgetGuard, subject: FileSubject, context: Context) -> Measuring:
        """See `Probe.measure`."""
        against = guard.against and str(Path(context.folder) / guard.against)
        booted = any(is_engine_file(path) for path in (subject.path, against or ""))
        (outcome,) = yield [
            Task(
                _BOOTING if booted else _READING,
                {
                    "subject": subject,
                    "against": against,
                    "planned_bytes": guard.planned_bytes,
                    "ignored": guard.ignore,
                },
                Environment.COMMAND if booted else Environment.HOST,
                timeout=_LONGEST_BOOTS if booted else _LONGEST_READING,
                # A key of the cache holds the content of one file, the subject's, and of no engine.
                reusable=against is None and not booted,
            )
        ]
        if not isinstance(outcome, Done):
            return [Unmeasured(outcome.reason)]
        units = {metric.name: metric.unit for metric in self.metrics}
        return [_measurement(row, units) for row in outcome.value]


def read_budget(
    subject: FileSubject, against: str | None, planned_bytes: int | None, ignored: list[str]
) -> list[dict[str, Any]]:
    """Read the budget of a start.

    Args:
        subject: A log, or what ``guardrail kv log --json`` made of it; its hash makes the outcome cacheable.
        against: Path of the log to compare with.
        planned_bytes: What a worker is meant to take more; its scratch at load where None.
        ignored: Settings in which the two may differ.

    Returns:
        One row for each metric and process: plain data.

    Raises:
        GuardrailError: A log cannot be read, or the two are of different engines.
    """
    before = None if against is None else read_startup(Path(against))
    return budget_rows(read_startup(Path(subject.path)), before, planned_bytes, ignored)


def budget_rows(
    startup: Startup, before: Startup | None, planned_bytes: int | None, ignored: list[str]
) -> list[dict[str, Any]]:
    """List the metrics of a start as `read_budget` does.

    Args:
        startup: The start in question.
        before: The one to compare with; none where None.
        planned_bytes: What a worker is meant to take more; its scratch at load where None.
        ignored: Settings in which the two may differ.

    Raises:
        GuardrailError: The two are of different engines.
    """
    if before is None:
        return [*_rows(startup, [what_is_left(worker) for worker in startup.workers])]
    compared = compare(before, startup, ignored)
    why = causes(compared)
    rows = [*_rows(startup, why), *_compared_rows(before, startup, planned_bytes, why)]
    cause = first_cause(compared)
    return [row | {"cause": cause} if row["metric"] in _FOLLOWING else row for row in rows]


def _rows(startup: Startup, why: list[str]) -> Iterator[dict[str, Any]]:
    """List the metrics of a start; one that the log does not state has no value."""
    own = ("available_bytes", "model_load_bytes", "activation_peak_bytes", "graph_estimate_bytes",
           "graph_actual_bytes", "graph_unbudgeted_bytes", *_OF_SCRATCH)  # fmt: skip
    for worker in startup.workers:
        where = _where(worker.process, len(startup.workers))
        for metric in own:
            inspected = worker.scratch_lines if metric in _OF_SCRATCH else 1
            yield _row(metric, worker.readings.get(metric), where, why, inspected)
    for engine in startup.engines:
        where = _where(engine.process, len(startup.engines))
        for metric in ("kv_tokens", "bytes_per_token", "concurrency"):
            yield _row(metric, engine.readings.get(metric), where, why)
    for metric in ("requested_utilization", "effective_utilization"):
        yield _row(metric, startup.readings.get(metric), {}, why)
    for metric in _COUNTED:
        names = startup.counted.get(metric)
        yield {
            **_row(metric, None if names is None else Reading.exact(len(names)), {}, []),
            "why": list(names or ()),
        }


def _compared_rows(
    before: Startup, now: Startup, planned_bytes: int | None, why: list[str]
) -> Iterator[dict[str, Any]]:
    for worker in now.workers:
        other = counterpart(before, now, worker)
        where = _where(worker.process, len(now.workers))
        for metric, reading, sign in (
            ("unplanned_load_bytes", "model_load_bytes", 1),
            ("unplanned_kv_bytes", "available_bytes", -1),
        ):
            found = _unplanned(other, worker, reading, sign, planned_bytes) if other else None
            yield _row(metric, found, where, why)


def _unplanned(
    before: Worker, now: Worker, metric: str, sign: int, planned_bytes: int | None
) -> Reading | None:
    old, new = before.readings.get(metric), now.readings.get(metric)
    if old is None or new is None:
        return None
    if planned_bytes is None:
        none = Reading.exact(0)
        planned = now.readings.get(_PLANNED, none) - before.readings.get(_PLANNED, none)
    else:
        planned = Reading.exact(planned_bytes)
    return (new - old if sign > 0 else old - new) - planned


def _where(process: str, of: int) -> dict[str, str]:
    """Name a process where there are several of its kind."""
    return {"process": process} if of > 1 else {}


def _row(
    metric: str, reading: Reading | None, where: Mapping[str, str], why: list[str], inspected: int = 1
) -> dict[str, Any]:
    return {
        "metric": metric,
        "reading": None if reading is None else asdict(reading),
        "where": where,
        "inspected": inspected,
        "why": why if metric in _CAUSED else [],
        "cause": "",
    }


def _measurement(row: Mapping[str, Any], units: Mapping[str, str]) -> Measurement:
    reading = None if row["reading"] is None else Reading(**row["reading"])
    return Measurement(
        metric=row["metric"],
        unit=units[row["metric"]],
        value=None if reading is None else reading.value,
        where=row["where"],
        interval=None if reading is None else reading.interval,
        inspected=row["inspected"],
        findings=tuple(Finding(sentence) for sentence in row["why"]),
        changed=row["cause"],
    )
