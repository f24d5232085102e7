"""Start-up logs: where the kept ones are, and other spellings of the same log."""

import json
import re
from pathlib import Path

from guardrail.kvlog.parse import parse_log
from guardrail.kvlog.startup import Startup

LOGS = Path(__file__).parents[1] / "data" / "kvlog"
EAGER = "0.33.0_eager_20000_spec.log"
GRAPH = "0.33.0_graph_20000_spec.log"

_PREFIX = re.compile(r"^\(MainProcess pid=(\d+)\) (\w+) (\S+ \S+) (\[\S+\]) (.*)$", re.MULTILINE)


def kept(name: str) -> str:
    """Read a kept log, its progress bars' returns included."""
    return (LOGS / name).read_bytes().decode()


def started(text: str) -> Startup:
    """Parse a log under the name ``x.log``."""
    return parse_log(text, "x.log")


def without_prefixes(text: str) -> str:
    """Write a log as an engine in the process of its caller did up to 0.27."""
    return _PREFIX.sub(r"\2 \3 \4 \5", text)


def in_colour(text: str) -> str:
    """Write a log as vLLM does on a terminal."""
    cyan, plain, green, reset, grey = "\x1b[0;36m", "\x1b[0;0m", "\x1b[32m", "\x1b[0m", "\x1b[90m"
    return _PREFIX.sub(
        rf"{cyan}(MainProcess pid=\1){plain} {green}\2{reset} {grey}\3{reset} {grey}\4{reset} \5", text
    )


def in_json(text: str) -> str:
    """Write a log in vLLM's JSON format, one object a line."""
    return "\n".join(
        json.dumps({"levelname": level, "processName": "EngineCore", "process": int(pid), "message": message})
        for pid, level, _, _, message in _PREFIX.findall(text)
    )


def in_a_container(text: str) -> str:
    """Write a log as Docker Compose repeats it."""
    return "\n".join(f"vllm-1  | {line}" for line in text.splitlines())
