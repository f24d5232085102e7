"""JSON in the output of a command."""

import json
from typing import Any

from guardrail.errors import MeasurementError


def parse(text: str, source: str) -> Any:
    """Read a JSON document; what a program printed before it, on lines of its own, is passed over.

    Args:
        text: The output.
        source: What it came from, for messages.

    Raises:
        MeasurementError: There is no JSON document up to the output's end.
    """
    lines = text.splitlines(keepends=True)
    for position, line in enumerate(lines):
        if not line.lstrip().startswith(("{", "[")):
            continue
        try:
            return json.loads("".join(lines[position:]))
        except (ValueError, RecursionError):
            # A log line may begin with a bracket too.
            continue
    raise MeasurementError(f"{source}: expected JSON in the output; {last_line(text)}")


def last_line(text: str) -> str:
    """Say how an output ends, which is where a program says what went wrong."""
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    return f"its last line is {last[:80]!r}" if last else "it is empty"


def require(document: Any, kind: type, source: str, expected: str) -> Any:
    """Return a document, or one of its parts, of the wanted kind.

    Args:
        document: What was read.
        kind: ``dict`` or ``list``.
        source: What it came from, for messages.
        expected: What should be there, for messages.

    Raises:
        MeasurementError: It is of another kind.
    """
    if not isinstance(document, kind):
        raise MeasurementError(f"{source}: expected {expected}")
    return document
