import pytest

from guardrail.traces.ranges import NamedRanges


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        (0, ""),
        (1, "outer"),
        (3, "inner"),
        (4.9, "inner"),
        (5, "outer"),
        (7, "second"),
        (9, "outer"),
        (10, ""),
    ],
)
def test_the_innermost_range_around_a_moment(moment, name):
    ranges = NamedRanges()
    ranges.add("t", 3, 5, "inner")
    ranges.add("t", 1, 10, "outer")
    ranges.add("t", 6, 8, "second")
    assert ranges.innermost("t", moment) == name


def test_threads_do_not_see_each_others_ranges():
    ranges = NamedRanges()
    ranges.add(1, 0, 9, "one")
    assert (ranges.innermost(1, 4), ranges.innermost(2, 4)) == ("one", "")


def test_a_range_added_after_a_question_is_seen():
    ranges = NamedRanges()
    ranges.add(1, 0, 9, "one")
    assert ranges.innermost(1, 4) == "one"
    ranges.add(1, 3, 5, "two")
    assert ranges.innermost(1, 4) == "two"


def test_of_two_ranges_with_one_start_the_shorter_is_the_inner():
    ranges = NamedRanges()
    ranges.add(1, 0, 2, "short")
    ranges.add(1, 0, 9, "long")
    assert (ranges.innermost(1, 1), ranges.innermost(1, 3)) == ("short", "long")
