"""Distribution-free intervals of the median."""

import math
from collections.abc import Sequence
from fractions import Fraction

NO_INTERVAL = (-math.inf, math.inf)
"""What too few samples allow to say about a median."""


def median_interval(samples: Sequence[float], confidence: float) -> tuple[float, float]:
    """Bound the median of the distribution that independent samples come from, whatever its shape.

    The k-th smallest and the k-th largest of n samples enclose the median with probability
    ``1 - 2 P(Binomial(n, 1/2) < k)`` at least (W. R. Thompson, 1936); k is the largest with which that
    reaches the confidence. The same holds where the samples differ in their distributions, as long as their
    medians lie evenly around the one asked for (W. Hoeffding, 1956).

    Args:
        samples: Independent samples, in any order and unit.
        confidence: Probability that the interval holds the median, in (0, 1).

    Returns:
        Its two ends, both of them samples; `NO_INTERVAL` where there are too few samples for any.

    Raises:
        ValueError: A sample is NaN, or the confidence is out of range.
    """
    if any(map(math.isnan, samples)):
        raise ValueError("a sample is not a number")
    rank = _rank(len(samples), confidence)
    if rank == 0:
        return NO_INTERVAL
    ordered = sorted(samples)
    return ordered[rank - 1], ordered[-rank]


def samples_needed(confidence: float) -> int:
    """Count the samples without which `median_interval` has nothing to say.

    Args:
        confidence: As for `median_interval`.

    Raises:
        ValueError: The confidence is out of range.
    """
    count = 1
    while _rank(count, confidence) == 0:
        count += 1
    return count


def _rank(count: int, confidence: float) -> int:
    """Find the largest rank with the wanted coverage, in whole numbers throughout; 0 where there is none."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    # The shortest decimal that reads back as this float: 0.95 stands for 95/100, not for its nearest binary.
    allowed = (1 - Fraction(str(float(confidence)))) * 2**count
    term, outside, rank = 1, 0, 0
    while rank < count // 2 + count % 2:
        outside += 2 * term
        if outside > allowed:
            break
        rank += 1
        term = term * (count - rank + 1) // rank
    return rank
