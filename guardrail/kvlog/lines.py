"""A log as messages of processes, whatever the dialect of its prefixes."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PREFIX = re.compile(r"\((?P<name>[A-Za-z][^()=]*?) pid=(?P<pid>\d+)[^()]*\)")
"""``(EngineCore pid=7)``, ``(Worker_TP0 pid=8)``, ``(RayWorkerWrapper pid=9, ip=192.0.2.1)``."""
_LEVEL = re.compile(r"(?:^| )(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) ")

Process = tuple[str, str]
"""Name and id; both empty for the process that a log without prefixes is of."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log."""

    number: int
    """From 1, as an editor counts."""
    process: Process
    text: str
    """The message, possibly behind what the log's format puts before it."""


def read_lines(text: str, wanted: re.Pattern[str]) -> Iterator[Line]:
    """Find the lines of a log that hold a pattern, without colours, each with the process that wrote it."""
    for number, raw in enumerate(text.split("\n"), start=1):
        # A progress bar returns to the start of its line, and the next message may follow it there.
        for part in raw.split("\r"):
            if wanted.search(part):
                line = _COLOUR.sub("", part).strip()
                yield _json_line(number, line) or _plain_line(number, line)


def _plain_line(number: int, line: str) -> Line:
    # A driver repeats what its workers print behind a prefix of its own; the innermost is the author.
    prefixes = list(_PREFIX.finditer(_LEVEL.split(line, maxsplit=1)[0]))
    return Line(number, (prefixes[-1]["name"], prefixes[-1]["pid"]) if prefixes else ("", ""), line)


def _json_line(number: int, line: str) -> Line | None:
    """Read a record of vLLM's JSON format, behind the prefix of a container's log or none."""
    start = line.find("{")
    if start < 0 or '"message"' not in line:
        return None
    try:
        record = json.loads(line[start:])
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("message"), str):
        return None
    process = (str(record.get("processName", "")), str(record.get("process", "")))
    return Line(number, process, record["message"])
