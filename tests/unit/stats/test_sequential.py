import math
import random

import pytest

from guardrail.stats.intervals import NO_INTERVAL, median_interval
from guardrail.stats.paired import ratio_interval
from guardrail.stats.sequential import Looks, confidence_at_look, is_clear, plan_looks
from helpers.samples import SHAPES


def test_the_error_is_split_evenly_among_the_looks():
    assert confidence_at_look(0.95, 1) == 0.95
    assert confidence_at_look(0.95, 5) == 0.99
    assert confidence_at_look(0.999, 2) == 0.9995


@pytest.mark.parametrize(("confidence", "looks"), [(0.95, 0), (1.0, 1), (0.0, 1)])
def test_impossible_plans_are_refused(confidence, looks):
    with pytest.raises(ValueError, match=f"not {confidence}, {looks}"):
        confidence_at_look(confidence, looks)


def test_looks_grow_by_half_and_end_at_the_most():
    assert plan_looks(0.95, 40, step=2) == Looks((8, 12, 18, 28, 40), 0.99)
    assert plan_looks(0.95, 8) == Looks((8,), 0.95)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_every_look_has_an_interval_and_all_of_them_keep_the_confidence(confidence, step):
    for most in range(1, 130):
        check_looks(confidence, most, step)


def check_looks(confidence, most, step):
    looks = plan_looks(confidence, most, step)
    assert list(looks.sizes) == sorted(set(looks.sizes))
    assert all(size % step == 0 and size <= most for size in looks.sizes)
    assert len(looks.sizes) * (1 - looks.confidence) <= 1 - confidence + 1e-12
    assert all(median_interval([1.0] * size, looks.confidence) == (1.0, 1.0) for size in looks.sizes)
    if looks.sizes:
        assert looks.sizes[-1] == most // step * step
    else:
        assert median_interval([1.0] * (most // step * step), confidence) == NO_INTERVAL


@pytest.mark.parametrize("shape", SHAPES)
def test_looking_again_and_again_does_not_raise_the_false_alarms(shape):
    """All looks together may err in 5%; 1,500 comparisons allow 103 with certainty of 0.999."""
    rng = random.Random(f"looks {shape}")
    draw, _ = SHAPES[shape]
    looks = plan_looks(0.95, 40, step=2)
    alarms = 0
    for _ in range(1500):
        base = [abs(draw(rng)) + 1e-9 for _ in range(40)]
        other = [abs(draw(rng)) + 1e-9 for _ in range(40)]
        for size in looks.sizes:
            low, _, high = ratio_interval(base[:size], other[:size], looks.confidence)
            if not low <= 1.0 <= high:
                alarms += 1
                break
    assert alarms <= 103


@pytest.mark.parametrize(
    ("interval", "limit", "clear"),
    [
        ((1.0, 2.0), 2.0, True),
        ((1.0, 2.0), 1.0, True),
        ((1.0, 2.0), 1.5, False),
        ((1.0, 2.0), 3.0, True),
        (NO_INTERVAL, 0.0, False),
        ((math.nan, math.nan), 0.0, False),
    ],
)
def test_an_interval_is_clear_of_a_limit_that_is_not_inside(interval, limit, clear):
    assert is_clear(interval, limit) is clear
