import math

import pytest

from guardrail.errors import MeasurementError
from guardrail.quality.perplexity import Scored, perplexity, perplexity_ratio, scored, windows


def test_a_text_is_cut_into_whole_windows_from_its_start():
    text = "".join(chr(97 + at % 26) for at in range(105))
    found = windows(text, 10, 40)
    assert len(found) == 10
    assert "".join(found) == text[:100]
    assert windows(text * 2, 10, 12) == windows(text * 2, 10, 40)[:12]


def test_a_text_with_too_few_windows_is_an_error():
    with pytest.raises(MeasurementError, match="gives 9 windows of 10 characters, and an interval needs 10"):
        windows("x" * 99, 10, 40)


def test_log_probabilities_add_up():
    assert scored([-1.0, -2.5]) == Scored(3.5, 2)


@pytest.mark.parametrize("values", [[0.5], [math.nan], [-math.inf]])
def test_what_is_no_log_probability_is_an_error(values):
    with pytest.raises(MeasurementError, match="is no log-probability"):
        scored([-1.0, *values])


def test_a_window_of_one_token_is_an_error():
    with pytest.raises(MeasurementError, match="a window is a single token"):
        scored([])


def test_perplexity_is_over_tokens_not_windows():
    parts = [Scored(10.0, 10)] * 9 + [Scored(60.0, 30)]
    assert perplexity(parts, 0.95).value == pytest.approx(math.exp(150 / 120))


def test_a_uniform_loss_has_an_interval_of_no_width():
    found = perplexity([Scored(20.0, 10)] * 12, 0.95)
    assert found.value == pytest.approx(math.exp(2))
    assert found.interval == (found.value, found.value)


def test_what_makes_a_window_hard_drops_out_of_the_ratio():
    base = [Scored(10.0 + 5 * number, 10) for number in range(12)]
    other = [Scored(part.nats + 1.0, 10) for part in base]
    found = perplexity_ratio(base, other, 0.95)
    assert found.value == pytest.approx(math.exp(0.1))
    assert found.interval == pytest.approx((math.exp(0.1), math.exp(0.1)))
    assert perplexity(base, 0.95).interval[1] / perplexity(base, 0.95).interval[0] > 2


def test_engines_with_other_tokens_have_no_ratio():
    with pytest.raises(MeasurementError, match="unlike tokens"):
        perplexity_ratio([Scored(1.0, 10)] * 10, [Scored(1.0, 11)] * 10, 0.95)
