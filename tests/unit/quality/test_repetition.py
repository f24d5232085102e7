import pytest

from guardrail.quality.repetition import repeated_share


@pytest.mark.parametrize(
    ("tokens", "share"),
    [
        (range(64), 0.0),
        ([7] * 64, 60 / 61),
        # A loop of eight tokens has eight windows, however long it runs.
        (list(range(8)) * 8, 53 / 61),
        # One phrase of five tokens that comes back has two windows a second time.
        ([*range(20), *range(5)], 2 / 22),
    ],
)
def test_the_share_is_that_of_windows_that_came_before(tokens, share):
    assert repeated_share(list(tokens)) == pytest.approx(share)


def test_a_text_without_a_window_has_no_share():
    assert repeated_share([1, 2, 3]) is None
