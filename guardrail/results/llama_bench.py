"""Reader ``llama-bench``: what ``llama-bench -o json`` and ``-o jsonl`` print."""

import json
from typing import Any

from guardrail.errors import MeasurementError
from guardrail.results.documents import parse, require
from guardrail.results.interface import NamedSeries, Output, Series, number

_WORKLOAD = (
    "model_type", "model_size", "n_prompt", "n_gen", "n_depth", "n_batch", "n_ubatch", "n_threads",
    "type_k", "type_v", "n_gpu_layers", "flash_attn", "backends",
)  # fmt: skip


def read(text: str, source: str) -> Output:
    """Read tokens per second of each test: ``pp512``, ``tg128``, ``pp512+tg128``, ``tg128@d4096``.

    Args:
        text: The output: a list of tests, or one test a line.
        source: What it came from, for messages.

    Raises:
        MeasurementError: It is not that.
    """
    found: dict[str, Series] = {}
    for row in _rows(text, source):
        test = require(row, dict, source, "a list of llama-bench tests")
        name = _name(test, source)
        if name in found:
            raise MeasurementError(f"{source}: {name} is measured twice; run one configuration at a time")
        rates = require(test.get("samples_ts"), list, source, f"samples_ts of {name}; use -o json")
        if not rates:
            raise MeasurementError(f"{source}: {name} has no samples")
        times = require(test.get("samples_ns", []), list, source, f"a list of samples_ns of {name}")
        found[name] = Series(
            samples=tuple(number(rate, f"{source}: samples_ts of {name}") for rate in rates),
            unit="tokens/s",
            workload={key: test[key] for key in _WORKLOAD if key in test},
            times=tuple(number(time, f"{source}: samples_ns of {name}") for time in times),
        )
    return NamedSeries(source, found)


def _rows(text: str, source: str) -> list[Any]:
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and all(line.lstrip().startswith("{") for line in lines):
        try:
            return [json.loads(line) for line in lines]
        except (ValueError, RecursionError) as error:
            raise MeasurementError(f"{source}: expected one llama-bench test a line: {error}") from None
    rows: list[Any] = require(parse(text, source), list, source, "a list of llama-bench tests")
    return rows


def _name(test: dict[str, Any], source: str) -> str:
    """Name a test as llama-bench does in its tables."""
    prompt, generated, depth = (
        int(number(test.get(key, 0), f"{source}: {key}")) for key in ("n_prompt", "n_gen", "n_depth")
    )
    parts = [f"pp{prompt}"] * (prompt > 0) + [f"tg{generated}"] * (generated > 0)
    if not parts:
        raise MeasurementError(f"{source}: a test has neither n_prompt nor n_gen")
    return "+".join(parts) + (f"@d{depth}" if depth else "")
