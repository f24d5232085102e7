import math

import pytest

from guardrail.ab.criterion import Criterion, parse_criterion, require_exclusive
from guardrail.errors import UsageError


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("B/A <= 0.996", Criterion("B/A", "<=", 0.996)),
        ("B/A>=1.004", Criterion("B/A", ">=", 1.004)),
        (" B - A <= -0.5 ", Criterion("B-A", "<=", -0.5)),
    ],
)
def test_criteria_are_read(text, criterion):
    assert parse_criterion(text, "--accept") == criterion


@pytest.mark.parametrize("text", ["", "A/B <= 1", "B/A < 1", "B/A <= x", "B/A <= nan", "B/A <= inf", "B/A 1"])
def test_what_is_no_criterion_is_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_criterion(text, "--veto")
    assert str(caught.value) == f"--veto {text!r}: expected a bound such as 'B/A <= 0.996' or 'B-A >= 0.5'"


def test_a_ratio_is_positive():
    with pytest.raises(UsageError, match="a ratio is positive"):
        parse_criterion("B/A <= 0", "--accept")


@pytest.mark.parametrize(
    ("interval", "met"),
    [((0.9, 0.996), True), ((0.9, 0.9961), False), ((-math.inf, math.inf), False)],
)
def test_a_criterion_is_met_by_a_whole_interval(interval, met):
    assert parse_criterion("B/A <= 0.996", "--accept").is_met(interval) is met


def criteria(*texts):
    return tuple(parse_criterion(text, "--accept") for text in texts)


@pytest.mark.parametrize(
    ("accept", "veto"),
    [(["B/A <= 1"], ["B/A >= 1"]), (["B/A <= 0.9"], ["B/A <= 0.8"]), (["B/A <= 0.9"], ["B-A >= 1"])],
)
def test_criteria_that_one_result_could_meet_are_refused(accept, veto):
    with pytest.raises(UsageError, match="can both be met by one result; leave a gap between them"):
        require_exclusive(criteria(*accept), criteria(*veto))


def test_one_pair_that_excludes_another_suffices():
    require_exclusive(criteria("B/A <= 0.99", "B-A <= -1"), criteria("B-A >= 0"))
