"""What is read from the output of a command that measures something."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from guardrail.errors import MeasurementError

Stated = str | int | float | bool | None
"""One value of a workload, as the output states it."""


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one metric in one output."""

    samples: tuple[float, ...]
    unit: str | None = None
    """None where the format does not tell."""
    workload: Mapping[str, Stated] = field(default_factory=dict)
    """What was asked of the measured program, under the format's own names. Other work is not comparable."""
    notes: Mapping[str, Stated] = field(default_factory=dict)
    """What a reader wants to know of the run besides: step counts, the hash of a text."""
    times: tuple[float, ...] = ()
    """Finest times that the output holds, by which a copy of a run is known; empty where there are none."""


class Output(ABC):
    """One output, opened by the reader of its format."""

    @abstractmethod
    def series(self, selector: str) -> Series:
        """Read one metric.

        Args:
            selector: Where it is, in the reader's own terms: a path, a regular expression, a name.

        Raises:
            MeasurementError: It is not there, or not a finite number.
        """

    @abstractmethod
    def stated(self, key: str, series: Series) -> Stated:
        """Read one value of the workload.

        Args:
            key: Where it is, in the reader's own terms.
            series: The metric whose workload it is.

        Raises:
            MeasurementError: It is not there.
        """


class NamedSeries(Output):
    """An output in a format that names its own metrics.

    Args:
        source: What it came from, for messages.
        found: Every metric by its name.
    """

    def __init__(self, source: str, found: Mapping[str, Series]) -> None:
        self._source = source
        self._found = found

    def series(self, selector: str) -> Series:
        """See `Output.series`."""
        if selector not in self._found:
            known = ", ".join(self._found) or "nothing"
            raise MeasurementError(f"{self._source} measures no {selector!r}; it measures {known}")
        return self._found[selector]

    def stated(self, key: str, series: Series) -> Stated:
        """See `Output.stated`."""
        known = {**series.notes, **series.workload}
        if key not in known:
            names = ", ".join(known) or "nothing"
            raise MeasurementError(f"{self._source} states no {key!r}; it states {names}")
        return known[key]


def number(value: Any, place: str) -> float:
    """Take a finite number from an output, and nothing else.

    Args:
        value: What stands there.
        place: Where that is, for messages.

    Raises:
        MeasurementError: It is no number, or not finite.
    """
    try:
        found = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        found = math.inf  # an integer of more digits than a float has room for
    if not math.isfinite(found):
        raise MeasurementError(f"{place}: expected a finite number, not {str(value)[:60]!r}")
    return found
