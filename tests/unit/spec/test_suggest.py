import pytest

from guardrail.spec.suggest import did_you_mean

NAMES = [f"name-{number:02}" for number in range(23)]


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("resource", ["resources", "dispatch"], "; did you mean 'resources'?"),
        ("x", ["b", "a"], "; known: a, b"),
        ("x", NAMES[:20], f"; known: {', '.join(NAMES[:20])}"),
        ("x", NAMES, f"; known: {', '.join(NAMES[:20])} and 3 more"),
        ("x", [], ""),
    ],
)
def test_an_unknown_name_is_told_the_nearest_or_the_known_ones(word, known, hint):
    assert did_you_mean(word, known) == hint
