import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardrail.stats.exact import binomial_interval, binomial_lower_bound, binomial_upper_bound


def at_most(failures: int, trials: int, chance: float) -> float:
    """Sum the binomial distribution in fractions."""
    p = Fraction(chance)
    return float(sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(failures + 1)))


@pytest.mark.parametrize(
    ("failures", "trials", "interval"),
    [(0, 10, (0.0, 0.3085)), (3, 10, (0.0667, 0.6525)), (10, 10, (0.6915, 1.0)), (1, 300, (0.0001, 0.0184))],
)
def test_intervals_are_those_of_published_tables(failures, trials, interval):
    assert binomial_interval(failures, trials, 0.95) == pytest.approx(interval, abs=5e-5)


def test_no_failure_at_all_has_a_closed_form():
    assert binomial_upper_bound(0, 300, 0.95) == pytest.approx(1 - 0.05 ** (1 / 300), rel=1e-12)
    assert binomial_upper_bound(0, 10_000, 0.95) == pytest.approx(1 - 0.05 ** (1 / 10_000), rel=1e-9)
    assert binomial_lower_bound(0, 300, 0.95) == 0.0


@given(st.data(), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_bound_is_where_the_counts_become_as_rare_as_stated(data, confidence):
    trials = data.draw(st.integers(1, 60))
    failures = data.draw(st.integers(0, trials))
    upper = binomial_upper_bound(failures, trials, confidence)
    if failures == trials:
        assert upper == 1.0
    else:
        assert at_most(failures, trials, upper) == pytest.approx(1 - confidence, rel=1e-6)
    lower = binomial_lower_bound(failures, trials, confidence)
    if failures:
        assert 1 - at_most(failures - 1, trials, lower) == pytest.approx(1 - confidence, rel=1e-6)


@pytest.mark.parametrize(
    ("failures", "trials", "confidence"), [(-1, 3, 0.9), (4, 3, 0.9), (0, 0, 0.9), (0, 3, 1.0), (0, 3, 0.0)]
)
def test_impossible_counts_are_refused(failures, trials, confidence):
    with pytest.raises(ValueError, match=f"not {failures}, {trials}, {confidence}"):
        binomial_upper_bound(failures, trials, confidence)
