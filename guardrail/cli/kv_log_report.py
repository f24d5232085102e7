"""What ``guardrail kv log`` prints."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from guardrail.cli.table import print_line, print_table
from guardrail.errors import UsageError
from guardrail.kvlog.causes import causes
from guardrail.kvlog.compare import Comparison, compare, weights
from guardrail.kvlog.reading import Reading
from guardrail.kvlog.saved import plain_startup, read_startup
from guardrail.kvlog.settings import IDENTITY
from guardrail.kvlog.startup import Engine, Startup, Worker
from guardrail.spec.suggest import did_you_mean

_MIB = 2**20
_SHOWN_SETTINGS = (
    "vllm",
    "model",
    "kv_cache_dtype",
    "max_model_len",
    "utilization",
    "runner",
    "enforce_eager",
    "compile_cache",
)
_BESIDE = (
    ("graph_actual_bytes", "captured graphs"),
    ("graph_unbudgeted_bytes", "graphs beyond their estimate"),
    ("scratch_after_profile_bytes", "scratch after the profile"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """One command line."""

    file: Path
    against: Path | None
    ignored: tuple[str, ...]
    as_json: bool


def print_log(request: Request) -> None:
    """Read a start, compare it where another is named, and print both.

    Raises:
        UsageError: A file cannot be read, an option names nothing, or the starts are of different engines.
        MeasurementError: A log holds no start that finished.
    """
    for name in request.ignored:
        if name not in IDENTITY:
            raise UsageError(f"--ignore {name}: there is no such setting{did_you_mean(name, IDENTITY)}")
    if request.ignored and request.against is None:
        raise UsageError("--ignore goes with --against only")
    startup = read_startup(request.file)
    compared = None
    if request.against is not None:
        compared = compare(read_startup(request.against), startup, request.ignored)
    if request.as_json:
        document = plain_startup(startup)
        if compared is not None:
            document["comparison"] = {**_as_json(compared), "against": str(request.against)}
        typer.echo(json.dumps(document, indent=2))
        return
    _print_startup(startup)
    if compared is not None:
        _print_comparison(compared, str(request.against))


def _print_startup(startup: Startup) -> None:
    stated = [f"{name} {startup.settings[name]}" for name in _SHOWN_SETTINGS if name in startup.settings]
    print_line(f"{startup.source}: {', '.join(stated) or 'its settings are not stated'}\n")
    for worker in startup.workers:
        print_table((worker.process, "MiB", "rounding", "bytes"), _budget(worker))
        print_line()
    for engine in startup.engines:
        print_line(_capacity(engine))
    if (effective := startup.readings.get("effective_utilization")) is not None:
        requested = startup.readings["requested_utilization"]
        print_line(f"utilization: {requested.value:g} requested, {effective.value:g} but for captured graphs")
    for name in startup.counted.get("unknown_variables", ()):
        print_line(f"vLLM does not know the variable {name}, so it changed nothing: is it misspelt?")
    if late := startup.counted.get("late_compilations"):
        print_line(f"compiled after the start, as requests waited: {', '.join(late)}")
    if len(startup.workers) > 1 and (tightest := startup.tightest()):
        print_line(f"{tightest.process} has the least for the KV cache, which limits every worker")


def _budget(worker: Worker) -> Iterable[tuple[str, ...]]:
    """List what a worker's memory goes to, then what the budget does not cover."""
    readings = worker.readings
    rows = [
        ("requested", readings.get("requested_bytes")),
        ("- model but scratch", weights(worker)),
        ("- scratch at load", readings.get("scratch_at_load_bytes")),
        ("- outside the allocator", readings.get("outside_bytes")),
        ("- activation peak", readings.get("activation_peak_bytes")),
        ("- estimate of graphs", readings.get("graph_applied_bytes")),
        ("= KV cache", readings.get("available_bytes")),
        *((f"  beside: {name}", readings.get(metric)) for metric, name in _BESIDE),
    ]
    for name, reading in rows:
        yield name, *_cells(reading)
    if worker.scratch_lines:
        yield "  builders that adopt scratch", "", "", str(readings["adopted"].value)


def _cells(reading: Reading | None) -> tuple[str, str, str]:
    if reading is None:
        return "not stated", "", ""
    half = (reading.high - reading.low) / 2
    rounding = f"± {half / _MIB:.2f}" if half else "exact"
    return f"{reading.value / _MIB:.2f}", rounding, str(reading.value)


def _capacity(engine: Engine) -> str:
    readings = engine.readings
    parts = [f"{int(readings['kv_tokens'].value):,} tokens"]
    if (each := readings.get("bytes_per_token")) is not None:
        open_ = f" ({each.low:.6g} to {each.high:.6g})" if each.interval else ""
        parts.append(f"{each.value:.6g} bytes a token{open_}")
    if (concurrency := readings.get("concurrency")) is not None:
        parts.append(f"{concurrency.value:g} requests of {engine.request_tokens:,} tokens")
    return f"{engine.process}: {', '.join(parts)}"


def _print_comparison(found: Comparison, against: str) -> None:
    print_line(f"\nagainst {against}, by {found.process}:\n")
    rows = [
        *((part.name, part.before, part.now, part.taken) for part in found.parts),
        ("= taken from the KV cache", *_available(found), found.lost),
        ("no line accounts for", None, None, found.unexplained),
    ]
    print_table(
        ("MiB", "before", "now", "taken", "rounding"),
        [
            (name, _mib(before), _mib(now), _mib(taken), *_cells(taken)[1:2])
            for name, before, now, taken in rows
        ],
    )
    print_line()
    for sentence in causes(found):
        print_line(sentence)
    if found.explained:
        print_line("the parts account for the difference to within the rounding of the logs")
    elif found.lost is None:
        print_line("a log does not state the memory for the KV cache, so the difference stays open")
    for metric, name in _BESIDE[1:]:
        before, now = found.before.readings.get(metric), found.now.readings.get(metric)
        if before is not None and now is not None and now.low > before.high:
            print_line(f"outside the budget: {name} rose by {_mib(now - before)} MiB")
    if found.changed_settings:
        print_line(f"started differently: {'; '.join(found.changed_settings)}")


def _available(found: Comparison) -> tuple[Reading | None, Reading | None]:
    return found.before.readings.get("available_bytes"), found.now.readings.get("available_bytes")


def _mib(reading: Reading | None) -> str:
    return "" if reading is None else f"{reading.value / _MIB:.2f}"


def _as_json(found: Comparison) -> Mapping[str, Any]:
    return {
        "process": found.process,
        "parts": {part.name: _numbers(part.taken) for part in found.parts},
        "lost": _numbers(found.lost),
        "unexplained": _numbers(found.unexplained),
        "explained": found.explained,
        "causes": causes(found),
        "changed_settings": list(found.changed_settings),
    }


def _numbers(reading: Reading | None) -> list[int | float] | None:
    return None if reading is None else [reading.value, reading.low, reading.high]
