import pytest

from guardrail.kvlog.reading import GIB, Reading, total

MIB = 2**20


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [("27.15", 27.15, 0.005), ("4.8", 4.8, 0.005), ("14", 14.0, 0.005), ("7.4567", 7.4567, 0.00005)],
)
def test_a_printed_size_is_open_by_half_of_its_last_decimal(text, value, half):
    found = Reading.rounded(text, GIB)
    assert found.value == round(value * GIB)
    assert (found.value - found.low, found.high - found.value) == pytest.approx(
        (half * GIB, half * GIB), abs=1
    )


def test_two_decimals_of_a_gib_are_open_by_5_mib():
    found = Reading.rounded("0.05", GIB)
    assert (found.high - found.low) / 2 == pytest.approx(5.12 * MIB, abs=1)


def test_a_negative_size_is_read():
    assert Reading.rounded("-2.81", GIB).value == round(-2.81 * GIB)


def test_differences_and_sums_are_open_by_both():
    first, second = Reading(10, 8, 12), Reading(4, 3, 5)
    assert first - second == Reading(6, 3, 9)
    assert total([first, second, Reading.exact(1)]) == Reading(15, 12, 18)
    assert total([]) == Reading.exact(0)


def test_two_statements_of_one_number_narrow_each_other():
    assert Reading(10, 5, 15).narrowed(Reading(11, 9, 13)) == Reading(11, 9, 13)
    assert Reading(10, 5, 15).narrowed(Reading(14, 12, 16)) == Reading(14, 12, 15)
    assert Reading(10, 5, 15).narrowed(Reading.exact(7)) == Reading.exact(7)


def test_a_statement_that_excludes_another_is_left_alone():
    assert Reading(10, 9, 11).narrowed(Reading.exact(20)) == Reading(10, 9, 11)


def test_an_exact_number_has_no_interval():
    assert (Reading.exact(3).interval, Reading(3, 2, 4).interval) == (None, (2, 4))
