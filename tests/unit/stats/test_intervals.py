import math
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardrail.stats.intervals import NO_INTERVAL, median_interval, samples_needed
from helpers.samples import SHAPES


def coverage(count: int, rank: int) -> float:
    """Enumerate on which side of the median each of a few samples may fall."""
    inside = sum(rank <= sum(sides) <= count - rank for sides in product((0, 1), repeat=count))
    return inside / 2**count


def best_rank(count: int, confidence: float) -> int:
    return max((rank for rank in range(1, count // 2 + 1) if coverage(count, rank) >= confidence), default=0)


@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
def test_the_ends_are_those_that_enumeration_finds(confidence):
    for count in range(1, 15):
        rank = best_rank(count, confidence)
        expected = (float(rank), float(count + 1 - rank)) if rank else NO_INTERVAL
        samples = random.Random(count).sample([float(value) for value in range(1, count + 1)], count)
        assert median_interval(samples, confidence) == expected


def test_the_ends_are_those_of_the_published_table():
    """Ranks of the 95% interval of the median, as printed in tables of the sign test."""
    ranks = {6: 1, 9: 2, 12: 3, 20: 6, 30: 10, 50: 18, 100: 40}
    for count, rank in ranks.items():
        assert median_interval(list(range(1, count + 1)), 0.95) == (rank, count + 1 - rank)


@pytest.mark.parametrize(("confidence", "needed"), [(0.5, 2), (0.9, 5), (0.95, 6), (0.99, 8), (0.999, 11)])
def test_too_few_samples_give_no_interval(confidence, needed):
    assert samples_needed(confidence) == needed
    assert median_interval([1.0] * (needed - 1), confidence) == (-math.inf, math.inf)
    assert median_interval([1.0] * needed, confidence) == (1.0, 1.0)


@given(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=60), st.sampled_from([0.5, 0.9, 0.95]))
def test_it_holds_the_sample_median_and_moves_with_scale(samples, confidence):
    low, high = median_interval(samples, confidence)
    ordered = sorted(samples)
    assert low <= ordered[(len(ordered) - 1) // 2] <= ordered[len(ordered) // 2] <= high
    assert median_interval([4 * value for value in samples], confidence) == (4 * low, 4 * high)
    assert median_interval([-value for value in samples], confidence) == (-high, -low)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_misses_the_median_no_more_often_than_stated(shape):
    """Exact miss rate for 25 samples is 4.33%; 2,000 draws put it below 5.8% with certainty of 0.999."""
    rng = random.Random(shape)
    draw, median = SHAPES[shape]
    misses = 0
    for _ in range(2000):
        low, high = median_interval([draw(rng) for _ in range(25)], 0.95)
        misses += not low <= median <= high
    assert misses <= 116


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 95])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(ValueError, match=f"a confidence lies between 0 and 1, not at {confidence}"):
        median_interval([1.0], confidence)


def test_a_sample_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="a sample is not a number"):
        median_interval([1.0, math.nan], 0.95)
