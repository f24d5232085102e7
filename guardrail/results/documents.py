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
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    shown = f"; its last line is {last[:80]!r}" if last else "; it is empty"
    raise MeasurementError(f"{source}: expected JSON in the output{shown}")


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
