"""Percentile bootstrap intervals of a statistic of independent parts (B. Efron, 1979)."""

import math
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

PartT = TypeVar("PartT")

RESAMPLES = 2000
FEWEST_PARTS = 10
"""With fewer the interval of a resampled statistic is far too narrow."""
_SEED = 0
"""The interval of the same parts is the same every time."""


def bootstrap_interval(
    parts: Sequence[PartT], statistic: Callable[[Sequence[PartT]], float], confidence: float
) -> tuple[float, float]:
    """Bound a statistic of the text that parts were taken from.

    Args:
        parts: Independent parts, `FEWEST_PARTS` or more.
        statistic: Reduces parts to one number.
        confidence: Share of the resampled statistics that the interval holds, in (0, 1).

    Returns:
        Its two ends.

    Raises:
        ValueError: There are too few parts, or the confidence is out of range.
    """
    if len(parts) < FEWEST_PARTS or not 0 < confidence < 1:
        raise ValueError(
            f"expected {FEWEST_PARTS} parts or more and a confidence in (0, 1), "
            f"not {len(parts)} and {confidence}"
        )
    generator = random.Random(_SEED)
    found = sorted(statistic(generator.choices(parts, k=len(parts))) for _ in range(RESAMPLES))
    outside = math.floor((1 - confidence) / 2 * RESAMPLES)
    return found[outside], found[-1 - outside]
