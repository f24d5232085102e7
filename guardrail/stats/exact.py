"""Exact bounds on a probability from counts (C. J. Clopper and E. S. Pearson, 1934)."""

import math
from collections.abc import Callable

_HALVINGS = 60
"""Beyond these the ends of the bracket are neighbouring floats."""


def binomial_upper_bound(failures: int, trials: int, confidence: float) -> float:
    """Bound from above how likely a failure is.

    Args:
        failures: How many of the trials failed.
        trials: How many independent trials there were.
        confidence: Probability that the bound holds, in (0, 1): one-sided.

    Returns:
        The largest probability at which so few failures are not rarer than ``1 - confidence``.

    Raises:
        ValueError: The counts or the confidence are impossible.
    """
    _require(failures, trials, confidence)
    if failures == trials:
        return 1.0
    return _crossing(lambda chance: _at_most(failures, trials, chance) > 1 - confidence)


def binomial_lower_bound(failures: int, trials: int, confidence: float) -> float:
    """Bound from below how likely a failure is; see `binomial_upper_bound`."""
    _require(failures, trials, confidence)
    return 1 - binomial_upper_bound(trials - failures, trials, confidence)


def binomial_interval(failures: int, trials: int, confidence: float) -> tuple[float, float]:
    """Bound from both sides how likely a failure is, with half of the error on each.

    Args:
        failures: How many of the trials failed.
        trials: How many independent trials there were.
        confidence: Probability that both bounds hold, in (0, 1).

    Returns:
        Lower and upper bound.

    Raises:
        ValueError: The counts or the confidence are impossible.
    """
    each = (1 + confidence) / 2
    return binomial_lower_bound(failures, trials, each), binomial_upper_bound(failures, trials, each)


def _require(failures: int, trials: int, confidence: float) -> None:
    if not (0 <= failures <= trials and trials > 0 and 0 < confidence < 1):
        raise ValueError(
            f"expected 0 <= failures <= trials, trials > 0 and a confidence in (0, 1), "
            f"not {failures}, {trials}, {confidence}"
        )


def _at_most(failures: int, trials: int, chance: float) -> float:
    """Compute the probability of at most so many failures, summed in the logarithm against underflow."""
    if chance <= 0:
        return 1.0
    if chance >= 1:
        return float(failures >= trials)
    hit, miss = math.log(chance), math.log1p(-chance)
    total = math.lgamma(trials + 1)
    return math.fsum(
        math.exp(
            total - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
            + count * hit + (trials - count) * miss
        )
        for count in range(failures + 1)
    )  # fmt: skip


def _crossing(is_below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return high
