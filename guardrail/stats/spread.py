"""How far the same thing measures apart from one window to the next."""

import statistics
from collections.abc import Sequence


def between_window_spread(window_medians: Sequence[float]) -> float:
    """Measure how far the medians of several windows lie apart.

    With the few windows that anyone has, the range says more than a standard deviation does, and hides
    nothing.

    Args:
        window_medians: The median of each window of one arm, positive.

    Returns:
        Largest minus smallest over their median: a fraction, as slack is.

    Raises:
        ValueError: There are fewer than two windows, or a median is not positive.
    """
    if len(window_medians) < 2 or min(window_medians) <= 0:
        raise ValueError(f"expected two windows or more with positive medians, not {list(window_medians)}")
    return (max(window_medians) - min(window_medians)) / statistics.median(window_medians)
