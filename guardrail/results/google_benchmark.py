"""Reader ``google-benchmark``: what ``--benchmark_format=json`` prints."""

from typing import Any

from guardrail.errors import MeasurementError
from guardrail.results.documents import parse, require
from guardrail.results.interface import NamedSeries, Output, Series, number

_UNITS = ("ns", "us", "ms", "s")


def read(text: str, source: str) -> Output:
    """Read the times of each benchmark: ``NAME/real_time``, ``NAME/cpu_time``, and its counters' rates.

    The repetitions of a benchmark are its samples; means and medians over them are passed over.

    Args:
        text: The output.
        source: What it came from, for messages.

    Raises:
        MeasurementError: It is not that, or a benchmark reports an error.
    """
    document = require(parse(text, source), dict, source, "one object, as Google Benchmark prints it")
    samples: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    for row in require(document.get("benchmarks"), list, source, "a list of benchmarks"):
        benchmark = require(row, dict, source, "a list of benchmarks")
        if benchmark.get("run_type", "iteration") != "iteration":
            continue
        name = str(benchmark.get("run_name") or benchmark.get("name"))
        if benchmark.get("error_occurred"):
            raise MeasurementError(f"{source}: {name}: {benchmark.get('error_message')}")
        for metric, unit in _metrics(benchmark, f"{source}: {name}").items():
            samples.setdefault(f"{name}/{metric}", []).append(
                number(benchmark[metric], f"{source}: {name}: {metric}")
            )
            units[f"{name}/{metric}"] = unit
    return NamedSeries(
        source,
        {name: Series(tuple(values), units[name], times=tuple(values)) for name, values in samples.items()},
    )


def _metrics(benchmark: dict[str, Any], place: str) -> dict[str, str]:
    unit = benchmark.get("time_unit", "ns")
    if unit not in _UNITS:
        raise MeasurementError(f"{place}: time_unit is {unit!r}, not one of {', '.join(_UNITS)}")
    known = {
        "real_time": unit,
        "cpu_time": unit,
        "bytes_per_second": "bytes/s",
        "items_per_second": "items/s",
    }
    return {name: unit for name, unit in known.items() if name in benchmark}
