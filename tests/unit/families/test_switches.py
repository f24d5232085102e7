import pytest

from guardrail.families.switches import read_switch


@pytest.mark.parametrize(
    ("word", "value"),
    [("true", True), ("1", True), ("on", True), ("false", False), ("0", False), ("off", False)],
)
def test_each_word_is_read(word, value):
    assert read_switch("X", default=not value, environment={"X": word}) is value


@pytest.mark.parametrize("default", [True, False])
def test_a_variable_that_is_not_set_has_its_default(default):
    assert read_switch("X", default=default, environment={}) is default


@pytest.mark.parametrize("word", ["", "yes", "True", "2", " 1", "disabled"])
def test_any_other_word_is_refused_by_name(word):
    with pytest.raises(ValueError, match=r"^X is .*; set it to one of true, 1, on, false, 0, off, or"):
        read_switch("X", default=True, environment={"X": word})
