"""Reader ``vllm-bench``: the files of ``vllm bench`` ``serve --save-result``, ``latency``, ``throughput``."""

from typing import Any

from guardrail.errors import MeasurementError
from guardrail.results.documents import parse, require
from guardrail.results.interface import NamedSeries, Output, Series, number

_WORKLOAD = (
    "model_id", "tokenizer_id", "backend", "endpoint_type", "num_prompts", "request_rate", "burstiness",
    "max_concurrency", "total_input_tokens", "num_requests",
)  # fmt: skip
# How much text a model writes until it stops is an outcome.
_NOTES = ("completed", "total_output_tokens", "total_num_tokens")

_UNITS = {
    "request_throughput": "requests/s",
    "request_goodput": "requests/s",
    "output_throughput": "tokens/s",
    "total_token_throughput": "tokens/s",
    "requests_per_second": "requests/s",
    "tokens_per_second": "tokens/s",
    "duration": "s",
    "elapsed_time": "s",
    "avg_latency": "s",
}

_SERIES = {"ttfts": "s", "latencies": "s"}


def read(text: str, source: str) -> Output:
    """Read every rate and latency under the names of the file: ``output_throughput``, ``mean_tpot_ms``.

    Args:
        text: The file.
        source: What it came from, for messages.

    Raises:
        MeasurementError: It is not that, or requests failed.
    """
    document = require(parse(text, source), dict, source, "one object, as vllm bench saves it")
    if document.get("failed"):
        raise MeasurementError(f"{source}: {document['failed']} requests failed")
    workload = {key: document[key] for key in _WORKLOAD if key in document}
    notes = {key: document[key] for key in _NOTES if key in document}
    times = _numbers(document, "ttfts", source) or _numbers(document, "latencies", source)
    found = {
        name: Series((number(value, f"{source}: {name}"),), unit, workload, notes, times)
        for name, value in document.items()
        if (unit := _UNITS.get(name) or ("ms" if name.endswith("_ms") else None)) and value is not None
    }
    for name, unit in _SERIES.items():
        if samples := _numbers(document, name, source):
            found[name] = Series(samples, unit, workload, notes, times)
    return NamedSeries(source, found)


def _numbers(document: dict[str, Any], key: str, source: str) -> tuple[float, ...]:
    values = require(document.get(key, []), list, source, f"a list of {key}")
    return tuple(number(value, f"{source}: {key}") for value in values)
