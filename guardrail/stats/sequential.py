"""Looking at the samples while they come in, without more false alarms for it."""

from dataclasses import dataclass
from fractions import Fraction

from guardrail.stats.intervals import samples_needed

_GROWTH = Fraction(3, 2)


@dataclass(frozen=True, slots=True)
class Looks:
    """When to look at growing samples, and how sure to be each time."""

    sizes: tuple[int, ...]
    """Numbers of samples to look at, ascending; empty where the most allowed are too few for any interval."""
    confidence: float
    """Confidence of the interval at each look."""


def confidence_at_look(confidence: float, looks: int) -> float:
    """Split the error that all looks together may make evenly among them (Bonferroni's inequality).

    It holds however the looks depend on each other, and so for samples that accumulate.

    Args:
        confidence: Probability, in (0, 1), that no look is wrong.
        looks: How many looks there may be at most.

    Returns:
        The confidence of the interval at each look.

    Raises:
        ValueError: There are no looks, or the confidence is out of range.
    """
    if looks < 1 or not 0 < confidence < 1:
        raise ValueError(f"expected a confidence in (0, 1) and at least one look, not {confidence}, {looks}")
    return float(1 - (1 - Fraction(str(float(confidence)))) / looks)


def plan_looks(confidence: float, most: int, step: int = 1) -> Looks:
    """Plan looks at samples that accumulate until the verdict is clear or the budget ends.

    The first comes as soon as an interval exists, each further one when there are half as many samples again,
    the last at the most that may be taken.

    Args:
        confidence: Probability, in (0, 1), that the intervals of all looks hold the truth.
        most: Samples that may be taken at most.
        step: Every size is a multiple of it: 2 where pairs alternate in their order.

    Returns:
        The looks, which may be none.

    Raises:
        ValueError: The confidence is out of range.
    """
    planned = 1
    while True:
        each = confidence_at_look(confidence, planned)
        sizes = _sizes(samples_needed(each), most, step)
        if len(sizes) <= planned:
            # With fewer looks than the error was split among, each may have more of it.
            return Looks(sizes, confidence_at_look(confidence, max(1, len(sizes))))
        planned += 1


def _sizes(first: int, most: int, step: int) -> tuple[int, ...]:
    last = most // step * step
    size = -(-first // step) * step
    sizes = []
    # A look shortly before the last is not worth its share of the error.
    while size * 5 <= last * 4:
        sizes.append(size)
        size = -(-int(size * _GROWTH) // step) * step
    return (*sizes, last) if size <= last or sizes else ()


def is_clear(interval: tuple[float, float], limit: float) -> bool:
    """Tell whether an interval lies wholly on one side of a limit, so that more samples decide nothing."""
    low, high = interval
    return high <= limit or low >= limit
