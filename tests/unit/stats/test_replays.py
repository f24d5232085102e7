import random

from guardrail.stats.replays import Replay, find_replays

SERIES = [0.0, 0.013, 0.027, 0.038, 0.052]


def test_a_copy_is_found_with_the_first_run_that_it_repeats():
    other = [0.0, 0.012, 0.027, 0.038, 0.052]
    assert find_replays([SERIES, other, SERIES, other, SERIES]) == (Replay(2, 0), Replay(3, 1), Replay(4, 0))


def test_one_differing_value_is_another_run():
    assert find_replays([SERIES, [*SERIES[:-1], 0.053]]) == ()


def test_series_that_agree_by_chance_are_passed_over():
    assert (
        find_replays([[49.3], [49.3], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [7.0] * 9, [7.0] * 9, [], []]) == ()
    )


def test_measured_series_are_no_replays():
    rng = random.Random(1)
    assert find_replays([[rng.gauss(1.0, 0.01) for _ in range(8)] for _ in range(500)]) == ()
