"""Reader ``nvbench``: what ``--json FILE`` of an NVBench program writes."""

from typing import Any

from guardrail.errors import MeasurementError
from guardrail.results.documents import parse, require
from guardrail.results.interface import NamedSeries, Output, Series, Stated, number

_TIMES = {
    "nv/cold/time/gpu/mean": "cold_gpu_time",
    "nv/cold/time/cpu/mean": "cold_cpu_time",
    "nv/batch/time/gpu/mean": "batch_gpu_time",
}


def read(text: str, source: str) -> Output:
    """Read the mean times of each state, in seconds: ``NAME/cold_gpu_time`` and so on.

    NAME is the benchmark's, with the axes of the state where it has any: ``copy[Elements=1024]``. The file
    holds means alone; several runs make several samples.

    Args:
        text: The file.
        source: What it came from, for messages.

    Raises:
        MeasurementError: It is not that.
    """
    document = require(parse(text, source), dict, source, "one object, as NVBench writes it")
    found: dict[str, Series] = {}
    for benchmark in _list(document, "benchmarks", source):
        for state in _list(benchmark, "states", source):
            if state.get("is_skipped"):
                continue
            axes = {str(axis.get("name")): _value(axis) for axis in _list(state, "axis_values", source)}
            shown = ",".join(f"{name}={value}" for name, value in axes.items())
            name = str(benchmark.get("name")) + (f"[{shown}]" if shown else "")
            for tag, seconds in _means(state, f"{source}: {name}").items():
                if f"{name}/{tag}" in found:
                    raise MeasurementError(f"{source}: {name} was measured on several devices; name one")
                found[f"{name}/{tag}"] = Series((seconds,), "s", axes | {"device": state.get("device")})
    return NamedSeries(source, found)


def _means(state: dict[str, Any], place: str) -> dict[str, float]:
    found = {}
    for summary in _list(state, "summaries", place):
        tag = _TIMES.get(str(summary.get("tag")))
        for datum in _list(summary, "data", place) if tag else ():
            if datum.get("name") == "value" and tag:
                found[tag] = number(_value(datum), f"{place}: {summary['tag']}")
    return found


def _value(datum: dict[str, Any]) -> Stated:
    """Read a typed value; NVBench writes numbers as text, so that 64 bits survive."""
    value, kind = datum.get("value"), datum.get("type")
    try:
        if kind == "int64":
            return int(str(value))
        if kind == "float64":
            return float(str(value))
    except ValueError:
        return None
    return None if value is None else str(value)


def _list(holder: Any, key: str, source: str) -> list[dict[str, Any]]:
    values = holder.get(key) or [] if isinstance(holder, dict) else None
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise MeasurementError(f"{source}: expected a list of {key}, as NVBench writes it")
    return values
