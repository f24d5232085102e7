"""From what the processes of an engine say to the parts of its budget."""

import re
from collections.abc import Mapping, Sequence

from guardrail.kvlog.dialects import FITTING_MARGIN
from guardrail.kvlog.heard import Heard
from guardrail.kvlog.reading import Reading, total
from guardrail.kvlog.startup import Engine, Worker

_NONE = Reading.exact(0)
_RANK = re.compile(r"DP\d+")


def worker_of(process: str, heard: Heard, reserved_bytes: int | None, eager: bool) -> Worker:
    """Put together one worker's budget.

    vLLM fixes it as requested - consumed - activation peak - estimate of graphs. What is consumed is the
    model with its scratch and whatever else the process takes of the device; before 0.27 the log has the two
    apart. The log's "peak activation" has the estimate in it where that is applied.

    Args:
        process: The worker's name.
        heard: What it said.
        reserved_bytes: Size of the KV cache that the engine was told to use; None where it profiled.
        eager: Whether no graph is captured.
    """
    first = {name: stated[0] for name, stated in heard.sizes.items() if stated}
    used = _NONE if eager else first.get("used_by_graphs_bytes")
    estimate = _estimate(heard)
    applied = estimate if heard.applied else _NONE
    actual = _graphs(heard, used)
    peak = first.get("peak_bytes")
    readings = {
        "available_bytes": _available(first.get("available_bytes"), heard, reserved_bytes, used),
        "model_load_bytes": first.get("model_load_bytes"),
        "activation_peak_bytes": peak and peak - applied,
        "graph_estimate_bytes": estimate,
        "graph_actual_bytes": actual,
        "graph_unbudgeted_bytes": actual and actual - applied,
        "requested_bytes": first.get("requested_bytes"),
        "consumed_bytes": first.get("consumed_bytes"),
        "outside_bytes": _outside(first),
        "peak_bytes": peak,
        "graph_applied_bytes": applied,
        **_scratch(heard),
    }
    return Worker(
        process,
        {name: reading for name, reading in readings.items() if reading is not None},
        scratch_lines=len(heard.scratch),
    )


def engine_of(process: str, heard: Heard, workers: Sequence[Worker], alone: bool) -> Engine:
    """Put together what one engine says; where it says it for each of its workers, the smallest counts.

    Args:
        process: The engine's name.
        heard: What it said.
        workers: Every worker of the log.
        alone: Whether they are all its own; else their names share its data-parallel rank.
    """
    tokens = min(heard.tokens)
    readings = {"kv_tokens": Reading.exact(tokens)}
    if heard.concurrency:
        readings["concurrency"] = min(heard.concurrency, key=lambda reading: reading.value)
    rank = _RANK.findall(process)
    own = [
        worker.readings["available_bytes"]
        for worker in workers
        if "available_bytes" in worker.readings and (alone or rank == _RANK.findall(worker.process))
    ]
    if own and tokens:
        readings["bytes_per_token"] = min(own, key=lambda reading: reading.value).over(tokens)
    return Engine(process, readings, heard.request_tokens)


def utilizations(
    settings: Mapping[str, str], processes: Sequence[Heard], workers: Sequence[Worker]
) -> dict[str, Reading]:
    """Give the share of the device that was asked for, and what the estimate of graphs leaves of it.

    A size that is given in bytes makes vLLM ignore both.
    """
    if "utilization" not in settings or "kv_cache_memory_bytes" in settings:
        return {}
    requested = Reading.exact(float(settings["utilization"]))
    found = {"requested_utilization": requested}
    stated = [heard.effective for heard in processes if heard.effective is not None]
    if stated:
        found["effective_utilization"] = min(stated, key=lambda reading: reading.value)
    elif not any(worker.readings["graph_applied_bytes"].value for worker in workers):
        found["effective_utilization"] = requested
    return found


def _estimate(heard: Heard) -> Reading:
    """Give the estimate of captured graphs; nothing is estimated where no line says so."""
    estimate, *others = heard.sizes.get("graph_estimate_bytes", [_NONE])
    for other in others:
        estimate = estimate.narrowed(other)
    return estimate


def _graphs(heard: Heard, used: Reading | None) -> Reading | None:
    """Give what captured graphs take: vLLM says it up to three times."""
    pool, captured = heard.sizes.get("graph_actual_bytes"), heard.sizes.get("captured_bytes")
    if used is not None:
        return used.narrowed(pool[-1]) if pool else used
    stated = pool or captured
    return stated[-1] if stated else None


def _available(
    stated: Reading | None, heard: Heard, reserved_bytes: int | None, graphs: Reading | None
) -> Reading | None:
    """Give the memory for the KV cache, to the byte where some line is that exact."""
    if stated is None:
        return None
    if reserved_bytes is not None:
        return stated.narrowed(Reading.exact(reserved_bytes))
    if heard.fitting_bytes is None or graphs is None:
        return stated
    return stated.narrowed(Reading.exact(heard.fitting_bytes + FITTING_MARGIN) + graphs)


def _outside(first: Mapping[str, Reading]) -> Reading | None:
    """Give what the process takes of the device beside PyTorch's allocator: contexts, libraries, NCCL."""
    if "consumed_bytes" in first and "model_load_bytes" in first:
        return first["consumed_bytes"] - first["model_load_bytes"]
    return first.get("outside_bytes")


def _scratch(heard: Heard) -> dict[str, Reading]:
    sets = [line for line in heard.scratch if line.bytes]
    return {
        "scratch_at_load_bytes": total(Reading.exact(line.bytes) for line in sets if line.profiled),
        "scratch_after_profile_bytes": total(Reading.exact(line.bytes) for line in sets if not line.profiled),
        "adopted": Reading.exact(sum(line.adopted for line in heard.scratch)),
    }
