import random
import statistics

import pytest

from guardrail.quality.bootstrap import bootstrap_interval


def mean(parts):
    return statistics.fmean(parts)


def test_equal_parts_leave_no_doubt():
    assert bootstrap_interval([3.0] * 10, mean, 0.95) == (3.0, 3.0)


def test_the_interval_of_the_same_parts_is_always_the_same():
    parts = [float(value) for value in range(20)]
    assert bootstrap_interval(parts, mean, 0.95) == bootstrap_interval(parts, mean, 0.95)


def test_the_interval_is_that_of_the_normal_approximation_where_it_holds():
    generator = random.Random(3)
    parts = [generator.gauss(10, 2) for _ in range(200)]
    low, high = bootstrap_interval(parts, mean, 0.95)
    error = 1.96 * statistics.stdev(parts) / 200**0.5
    assert low == pytest.approx(mean(parts) - error, abs=0.06)
    assert high == pytest.approx(mean(parts) + error, abs=0.06)


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    generator = random.Random(8)
    held = 0
    for _ in range(60):
        low, high = bootstrap_interval([generator.gauss(0, 1) for _ in range(40)], mean, 0.9)
        held += low <= 0 <= high
    assert 47 <= held <= 59


@pytest.mark.parametrize(("count", "confidence"), [(9, 0.95), (20, 0.0), (20, 1.0)])
def test_what_decides_nothing_is_refused(count, confidence):
    with pytest.raises(ValueError, match="expected 10 parts or more"):
        bootstrap_interval([1.0] * count, mean, confidence)
