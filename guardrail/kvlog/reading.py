"""A number as a log states it, with what its rounding leaves open."""

from collections.abc import Iterable
from dataclasses import dataclass

GIB = 2**30
_FEWEST_DECIMALS = 2
"""vLLM rounds to two decimals or more, and writes 4.80 as 4.8."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A number between two others; all three are equal where the log states it exactly."""

    value: int | float
    low: int | float
    high: int | float

    @classmethod
    def exact(cls, value: int | float) -> "Reading":
        """Take a number that was not rounded."""
        return cls(value, value, value)

    @classmethod
    def rounded(cls, text: str, scale: int = 1) -> "Reading":
        """Take a number from its text: ``"4.8"`` GiB is 4.795 to 4.805 GiB.

        Args:
            text: Digits as printed.
            scale: Units in one of what is printed; the result is in whole units where this is not 1.
        """
        decimals = max(len(text.partition(".")[2]), _FEWEST_DECIMALS)
        value, half = float(text), 0.5 * 10**-decimals
        if scale == 1:
            return cls(value, value - half, value + half)
        return cls(round(value * scale), round((value - half) * scale), round((value + half) * scale))

    @property
    def interval(self) -> tuple[int | float, int | float] | None:
        """Give what the rounding leaves open; None where nothing is."""
        return None if self.low == self.high else (self.low, self.high)

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(self.value + other.value, self.low + other.low, self.high + other.high)

    def __sub__(self, other: "Reading") -> "Reading":
        return Reading(self.value - other.value, self.low - other.high, self.high - other.low)

    def over(self, count: int) -> "Reading":
        """Divide by a number that is known exactly."""
        return Reading(self.value / count, self.low / count, self.high / count)

    def narrowed(self, other: "Reading") -> "Reading":
        """Combine with another statement of the number; keep to this one where they exclude each other."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            return self
        tighter = min(self, other, key=lambda stated: stated.high - stated.low)
        return Reading(min(max(tighter.value, low), high), low, high)


def total(readings: Iterable[Reading]) -> Reading:
    """Add readings up."""
    return sum(readings, Reading.exact(0))
