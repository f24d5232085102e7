"""The ratio of two arms that ran in pairs."""

import math
import statistics
from collections.abc import Sequence

from guardrail.stats.intervals import median_interval


def ratio_interval(
    base: Sequence[float], other: Sequence[float], confidence: float
) -> tuple[float, float, float]:
    """Estimate by what factor one arm's values are those of another, from pairs measured side by side.

    What changes slowly, such as a clock or a temperature, moves both of a pair and drops out of their ratio.
    With the order of the arms alternating, what is left of a drift lies evenly around the true ratio, for
    which `median_interval` holds.

    Args:
        base: One value of the base arm for each pair, positive.
        other: The other arm's value of the same pair, in the same unit, positive.
        confidence: Probability that the interval holds the median ratio, in (0, 1).

    Returns:
        Low end, median and high end of ``other / base``; the ends are infinite where there are too few pairs.

    Raises:
        ValueError: The arms differ in length, are empty, or hold a value that is not positive and finite.
    """
    if len(base) != len(other) or not base:
        raise ValueError(f"expected pairs, not {len(base)} and {len(other)} values")
    for value in (*base, *other):
        if not (0 < value < math.inf):
            raise ValueError(f"a ratio needs positive, finite values, not {value}")
    ratios = [after / before for before, after in zip(base, other, strict=True)]
    low, high = median_interval(ratios, confidence)
    return low, statistics.median(ratios), high
