"""A run as JSON values, and back."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

from guardrail.records.measurement import Measurement
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


def document(report: RunReport) -> dict[str, Json]:
    """Turn a run into JSON values, with what follows from its verdicts written out.

    JSON has no NaN and no infinity. A measurement in which one occurs is written as not known (value and
    interval null, no samples) with a warning of its guard that names the number; in a verdict the number is
    null, and status and sentence stay. Half a surrogate pair in text is written as a question mark.

    Args:
        report: The run.

    Returns:
        Every field of the records, ``exit_code`` and ``counts`` of the run, and the ``status`` of each guard.
    """
    finite = replace(report, guards=tuple(map(_finite_guard, report.guards)))
    written: dict[str, Any] = _values(finite)
    for guard, values in zip(finite.guards, written["guards"], strict=True):
        values["status"] = guard.status.value
    counts: dict[str, Json] = {status.value: report.count(status) for status in Status}
    summary: dict[str, Json] = {
        "schema_version": report.schema_version,
        "exit_code": int(report.exit_code),
        "counts": counts,
    }
    return summary | written


def first_difference(found: Json, expected: Json, unknown_keys: bool, path: str = "") -> str | None:
    """Say where a document first departs from the one that its own records would be written as.

    Args:
        found: The document.
        expected: What its records are written as.
        unknown_keys: Whether keys that are not expected may be there.
        path: Where in the whole document both lie.

    Returns:
        One sentence, or None where there is no difference.
    """
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in expected:
            if key not in found:
                return f"{path}{key} is missing"
        for key in found:
            if key not in expected and not unknown_keys:
                return f"{path}{key} is not a key of this format"
        pairs = [(f"{path}{key}", found[key], value) for key, value in expected.items()]
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = [(f"{path}[{at}]", found[at], value) for at, value in enumerate(expected)]
    elif isinstance(found, bool) is isinstance(expected, bool) and found == expected:
        return None
    else:
        return f"{path} is {json.dumps(found)}, but the rest of the report gives {json.dumps(expected)}"
    for name, part, wanted in pairs:
        inner = f"{name}." if isinstance(wanted, dict) else name
        if difference := first_difference(part, wanted, unknown_keys, inner):
            return difference
    return None


def _values(record: Any) -> Any:
    if isinstance(record, str):
        return str(record).encode("utf-8", "replace").decode()
    if is_dataclass(record):
        return {field.name: _values(getattr(record, field.name)) for field in fields(record)}
    if isinstance(record, Mapping):
        return {_values(key): _values(value) for key, value in record.items()}
    if isinstance(record, tuple):
        return [_values(item) for item in record]
    return record


def _finite_guard(guard: GuardResult) -> GuardResult:
    lost = tuple(
        f"{measurement.metric} is saved as not known: {numbers} cannot be written in JSON"
        for measurement in guard.measurements
        if (numbers := ", ".join(dict.fromkeys(str(number) for number in _infinite(measurement))))
    )
    return replace(
        guard,
        verdicts=tuple(map(_finite_verdict, guard.verdicts)),
        measurements=tuple(
            replace(measurement, value=None, samples=(), interval=None)
            if _infinite(measurement)
            else measurement
            for measurement in guard.measurements
        ),
        warnings=(*guard.warnings, *lost),
    )


def _finite_verdict(verdict: Verdict) -> Verdict:
    return replace(verdict, measured=_finite(verdict.measured), excess=_finite(verdict.excess))


def _finite(number: float | int | None) -> float | int | None:
    return number if number is None or math.isfinite(number) else None


def _infinite(measurement: Measurement) -> list[float | int]:
    numbers = (measurement.value, *(measurement.interval or ()), *measurement.samples)
    return [number for number in numbers if number is not None and not math.isfinite(number)]
