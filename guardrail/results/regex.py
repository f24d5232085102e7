"""Readers ``regex`` and ``regex-all``: numbers in any text."""

import re

from guardrail.errors import MeasurementError
from guardrail.results.documents import last_line
from guardrail.results.interface import Output, Series, Stated, number


class RegexOutput(Output):
    """A text; selectors are regular expressions with one group, which holds the number.

    Args:
        text: The output.
        source: What it came from, for messages.
        every: Take every match as a sample, not the last one alone.
    """

    def __init__(self, text: str, source: str, every: bool = False) -> None:
        self._text = text
        self._source = source
        self._every = every

    def series(self, selector: str) -> Series:
        """See `Output.series`; thousands may be separated by commas."""
        found = self._find(selector)
        taken = found if self._every else found[-1:]
        return Series(tuple(self._number(text, selector) for text in taken))

    def stated(self, key: str, series: Series) -> Stated:
        """See `Output.stated`; a number where it reads as one, else text."""
        text = self._find(key)[-1]
        try:
            return self._number(text, key)
        except MeasurementError:
            return text

    def _find(self, pattern: str) -> list[str]:
        found = [match.group(1) or "" for match in re.finditer(pattern, self._text, re.MULTILINE)]
        if not found:
            raise MeasurementError(
                f"{self._source}: nothing in the output matches {pattern!r}; {last_line(self._text)}"
            )
        return found

    def _number(self, text: str, pattern: str) -> float:
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            value = float("nan")
        return number(value if value == value else text, f"{self._source}: {pattern!r}")


def require_pattern(pattern: str) -> None:
    """Refuse what cannot select a number.

    Raises:
        ValueError: It is no regular expression with exactly one group.
    """
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    if groups != 1:
        raise ValueError(f"{pattern!r} has {groups} groups; put the number, and it alone, in (...)")
