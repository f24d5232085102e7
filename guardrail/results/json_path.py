"""Reader ``json``: values of any JSON document by their paths."""

import re
from typing import Any

from guardrail.errors import MeasurementError
from guardrail.results.documents import parse
from guardrail.results.interface import Output, Series, Stated, number

_STEP = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<index>-?\d+)\]")

_MAX_LISTED = 20


class JsonOutput(Output):
    """A JSON document; selectors are paths such as ``results[0].tokens_per_second``.

    Args:
        text: The output.
        source: What it came from, for messages.
    """

    def __init__(self, text: str, source: str) -> None:
        self._document = parse(text, source)
        self._source = source

    def series(self, selector: str) -> Series:
        """See `Output.series`; a list of numbers is taken as samples."""
        found = self._find(selector)
        place = f"{self._source}: {selector}"
        if not isinstance(found, list):
            return Series((number(found, place),))
        if not found:
            raise MeasurementError(f"{place}: the list is empty")
        return Series(tuple(number(value, place) for value in found))

    def stated(self, key: str, series: Series) -> Stated:
        """See `Output.stated`."""
        found = self._find(key)
        if isinstance(found, list | dict):
            raise MeasurementError(f"{self._source}: {key}: expected one value")
        return found  # type: ignore[no-any-return]  # what is left of JSON is a scalar

    def _find(self, path: str) -> Any:
        value = self._document
        for step in path_steps(path):
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                raise MeasurementError(f"{self._source}: the output has no {path}; {_offer(value)}") from None
        return value


def path_steps(path: str) -> list[str | int]:
    """Split a path such as ``a.b[0].c`` into keys and indices.

    Raises:
        ValueError: It is none.
    """
    steps: list[str | int] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or (match.group().startswith(".") and not steps):
            raise ValueError(f"{path!r} is no path; write one as a.b[0].c")
        steps.append(match["key"] if match["index"] is None else int(match["index"]))
        position = match.end()
    if not steps:
        raise ValueError("a path is empty; write one as a.b[0].c")
    return steps


def _offer(value: Any) -> str:
    if isinstance(value, dict):
        keys = list(value)
        more = f" and {len(keys) - _MAX_LISTED} more" if len(keys) > _MAX_LISTED else ""
        return f"it goes on with {', '.join(keys[:_MAX_LISTED]) or 'nothing'}{more}"
    if isinstance(value, list):
        return f"there is a list of {len(value)}"
    return f"there is {str(value)[:40]!r}"
