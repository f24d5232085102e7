import pytest

from guardrail.errors import UsageError
from guardrail.reanchor.prediction import contradiction, parse_prediction


@pytest.mark.parametrize(("text", "change"), [("-2.7%", -0.027), ("+15%", 0.15), ("0.5%", 0.005)])
def test_a_prediction_is_a_percentage(text, change):
    assert parse_prediction(text).change == pytest.approx(change, abs=1e-12)


@pytest.mark.parametrize("text", ["-2.7", "2,7%", "%", "less", "1e3%"])
def test_anything_else_is_refused(text):
    with pytest.raises(UsageError, match=r"expected the change of the metric in percent, such as -2\.7%"):
        parse_prediction(text)


@pytest.mark.parametrize(
    ("text", "changes", "holds"),
    [
        ("-2.7%", (-0.027, -0.026), True),
        ("-2.7%", (-0.031, -0.0215), True),
        ("-2.7%", (-0.021, -0.021), False),
        ("-2.7%", (0.027, 0.028), False),
        ("0%", (0.0049, 0.006), True),
        ("0%", (0.0051, 0.006), False),
        ("-50%", (-0.41, -0.41), True),
        ("-50%", (-0.39, -0.39), False),
    ],
)
def test_half_a_percent_or_a_fifth_is_the_room_of_a_prediction(text, changes, holds):
    assert (contradiction(parse_prediction(text), changes) == "") is holds


def test_a_contradiction_is_said_with_both_figures():
    said = contradiction(parse_prediction("-9%"), (-0.027, -0.026))
    assert said.startswith("-9% was predicted, but the windows measured -2.70% to -2.60%: the mechanism")
