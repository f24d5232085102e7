"""A start as JSON, as ``guardrail kv log --json`` writes it and reads it again."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guardrail.errors import MeasurementError, UsageError
from guardrail.kvlog.parse import parse_log
from guardrail.kvlog.reading import Reading
from guardrail.kvlog.startup import Engine, Startup, Worker

FORMAT = "guardrail-kv-log"
_VERSION = 1
_BEGINNING = re.compile(rf'\s*\{{\s*"format":\s*"{FORMAT}"')


def read_startup(path: Path) -> Startup:
    """Read a start from a log, or from what `plain_startup` made of one.

    Raises:
        UsageError: The file cannot be read.
        MeasurementError: It holds no start that finished, or is damaged.
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
            raise MeasurementError(
                f"{source}{where}: this saved start breaks off or is damaged here; write it again"
            ) from None
        return None
    except RecursionError:  # no start is nested so; as a log it has no line of vLLM's
        return None
    return document if isinstance(document, dict) and document.get("format") == FORMAT else None


def _restore(document: Mapping[str, Any], source: str) -> Startup:
    if document.get("version") != _VERSION:
        raise MeasurementError(
            f"{source}: expected version {_VERSION} of a saved start, and this one is "
            f"{document.get('version')!r}; write it again with this guardrail"
        )
    try:
        return Startup(
            source,
            tuple(
                Worker(worker["process"], _readings(worker["readings"]), worker["scratch_lines"])
                for worker in document["workers"]
            ),
            tuple(
                Engine(engine["process"], _readings(engine["readings"]), engine["request_tokens"])
                for engine in document["engines"]
            ),
            dict(document["settings"]),
            _readings(document["readings"]),
            {metric: tuple(map(str, names)) for metric, names in document["counted"].items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MeasurementError(f"{source}: a damaged start ({type(error).__name__}: {error})") from None


def _plain(readings: Mapping[str, Reading]) -> dict[str, list[int | float]]:
    return {name: [reading.value, reading.low, reading.high] for name, reading in readings.items()}


def _readings(plain: Mapping[str, Any]) -> dict[str, Reading]:
    return {name: _reading(name, stated) for name, stated in plain.items()}


def _reading(name: str, stated: Any) -> Reading:
    value, low, high = stated
    if not all(type(number) in (int, float) for number in stated):
        raise TypeError(f"{name} is {stated!r}, not three numbers")
    return Reading(value, low, high)
