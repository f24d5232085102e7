"""Reader ``pytest-benchmark``: the file of ``pytest --benchmark-json=FILE``."""

from typing import Any

from guardrail.errors import MeasurementError
from guardrail.results.documents import parse, require
from guardrail.results.interface import NamedSeries, Output, Series, number


def read(text: str, source: str) -> Output:
    """Read the time of a round of each benchmark, in seconds, by the benchmark's full name.

    Its samples are the rounds where the file has them (``--benchmark-save-data`` or a plain
    ``--benchmark-json``), else the median alone.

    Args:
        text: The file.
        source: What it came from, for messages.

    Raises:
        MeasurementError: It is not that.
    """
    document = require(parse(text, source), dict, source, "one object, as pytest-benchmark writes it")
    found: dict[str, Series] = {}
    for row in require(document.get("benchmarks"), list, source, "a list of benchmarks"):
        benchmark = require(row, dict, source, "a list of benchmarks")
        name = str(benchmark.get("fullname") or benchmark.get("name"))
        stats = require(benchmark.get("stats"), dict, source, f"stats of {name}")
        if name in found:
            raise MeasurementError(f"{source}: {name} is there twice")
        rounds = _rounds(stats, f"{source}: {name}")
        workload = {"group": benchmark.get("group"), **_plain(benchmark.get("params"))}
        found[name] = Series(rounds, "s", workload, times=rounds)
    return NamedSeries(source, found)


def _rounds(stats: dict[str, Any], place: str) -> tuple[float, ...]:
    data = stats.get("data")
    if isinstance(data, list) and data:
        return tuple(number(value, f"{place}: data") for value in data)
    return (number(stats.get("median"), f"{place}: median"),)


def _plain(params: Any) -> dict[str, str | int | float | bool | None]:
    if not isinstance(params, dict):
        return {}
    return {str(key): value for key, value in params.items() if not isinstance(value, list | dict)}
