"""A start as JSON, as ``guardrail kv log --json`` writes it and reads it again."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from guardrail.errors import UsageError
from guardrail.kvlog.parse import parse_log
from guardrail.kvlog.reading import Reading
from guardrail.kvlog.startup import Engine, Startup, Worker

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = "guardrail-kv-log"
_VERSION = 1
_Number: TypeAlias = int | float
_Numbers: TypeAlias = dict[str, tuple[_Number, _Number, _Number]]
"""Value, lowest and highest, by name."""
_BEGINNING = re.compile(rf'\s*\{{\s*"format":\s*"{FORMAT}"')


@dataclass(frozen=True, slots=True)
class _PlainWorker:
    process: str
    readings: _Numbers
    scratch_lines: int


@dataclass(frozen=True, slots=True)
class _PlainEngine:
    process: str
    readings: _Numbers
    request_tokens: int | None


@dataclass(frozen=True, slots=True)
class _PlainStartup:
    """What `plain_startup` gives, without what tells it from other files."""

    settings: dict[str, str]
    readings: _Numbers
    counted: dict[str, tuple[str, ...]]
    workers: tuple[_PlainWorker, ...]
    engines: tuple[_PlainEngine, ...]


def read_startup(path: Path) -> Startup:
    """Read a start from a log, or from what `plain_startup` made of one.

    Raises:
        UsageError: The file cannot be read, or is a saved start and damaged.
        MeasurementError: It is a log and holds no start that finished.
    """
    try:
        # Not as text: that would count a progress bar's returns as lines.
        text = path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}; expected a log of vLLM") from error
    document = _document(text, str(path))
    return parse_log(text, str(path)) if document is None else _restore(document, str(path))


def plain_startup(startup: Startup) -> dict[str, Any]:
    """Turn a start into plain data; every number is its value, lowest and highest."""
    return {
        "format": FORMAT,
        "version": _VERSION,
        "source": startup.source,
        "settings": dict(startup.settings),
        "readings": _plain(startup.readings),
        "counted": {metric: list(names) for metric, names in startup.counted.items()},
        "workers": [
            {
                "process": worker.process,
                "readings": _plain(worker.readings),
                "scratch_lines": worker.scratch_lines,
            }
            for worker in startup.workers
        ],
        "engines": [
            {
                "process": engine.process,
                "readings": _plain(engine.readings),
                "request_tokens": engine.request_tokens,
            }
            for engine in startup.engines
        ],
    }


def _document(text: str, source: str) -> dict[str, Any] | None:
    """Recognise a saved start among logs, whose JSON format has one object a line."""
    try:
        document = json.loads(text)
    except ValueError as error:
        if _BEGINNING.match(text):
            where = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise UsageError(
                f"{source}{where}: this saved start breaks off or is damaged here; write it again"
            ) from None
        return None
    except RecursionError:  # no start is nested so; as a log it has no line of vLLM's
        return None
    return document if isinstance(document, dict) and document.get("format") == FORMAT else None


def _restore(document: Mapping[str, Any], source: str) -> Startup:
    if document.get("version") != _VERSION:
        raise UsageError(
            f"{source}: expected version {_VERSION} of a saved start, and this one is "
            f"{document.get('version')!r}; write it again with this guardrail"
        )
    from pydantic import ValidationError

    try:
        (plain,) = _adapter().validate_json(json.dumps([document]), strict=True)
        return Startup(
            source,
            tuple(map(_worker, plain.workers)),
            tuple(map(_engine, plain.engines)),
            plain.settings,
            _readings(
                plain.readings,
                ("requested_utilization",) if "effective_utilization" in plain.readings else (),
            ),
            plain.counted,
        )
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}"
    except (ValueError, RecursionError) as error:
        reason = str(error)
    raise UsageError(f"{source}: a damaged start ({reason}); write it again")


def _adapter() -> "TypeAdapter[tuple[_PlainStartup]]":
    # pydantic hands a configuration down to dataclasses that have none, but not to the outermost type.
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(tuple[_PlainStartup], config=ConfigDict(allow_inf_nan=False))


def _worker(plain: _PlainWorker) -> Worker:
    needed = ("adopted",) if plain.scratch_lines else ()
    return Worker(plain.process, _readings(plain.readings, needed), plain.scratch_lines)


def _engine(plain: _PlainEngine) -> Engine:
    readings = _readings(plain.readings, ("kv_tokens",))
    if "concurrency" in readings and plain.request_tokens is None:
        raise ValueError(f"request_tokens of {plain.process} is null, and its concurrency is stated")
    return Engine(plain.process, readings, plain.request_tokens)


def _plain(readings: Mapping[str, Reading]) -> dict[str, list[int | float]]:
    return {name: [reading.value, reading.low, reading.high] for name, reading in readings.items()}


def _readings(plain: _Numbers, needed: Collection[str]) -> dict[str, Reading]:
    for name in needed:
        if name not in plain:
            raise ValueError(f"readings.{name} is missing")
    for name, (value, low, high) in plain.items():
        if not low <= value <= high:
            raise ValueError(f"readings.{name} is {value}, not between its lowest {low} and highest {high}")
    return {name: Reading(*numbers) for name, numbers in plain.items()}
