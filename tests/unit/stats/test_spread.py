import pytest

from guardrail.stats.spread import between_window_spread


def test_it_is_the_range_over_the_median():
    assert between_window_spread([100.0, 98.0, 103.0]) == 0.05
    assert between_window_spread([50.0, 50.0]) == 0.0


@pytest.mark.parametrize("medians", [[], [1.0], [1.0, 0.0], [1.0, -2.0]])
def test_windows_that_have_none_are_refused(medians):
    with pytest.raises(ValueError, match="expected two windows or more with positive medians"):
        between_window_spread(medians)
