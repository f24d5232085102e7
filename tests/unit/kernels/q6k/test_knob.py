import pytest

from guardrail.kernels.q6k import knob


@pytest.mark.parametrize(
    ("text", "allowed"),
    [("true", True), ("1", True), ("on", True), ("false", False), ("0", False), ("off", False)],
)
def test_each_spelling_is_read(text, allowed):
    assert knob.pipelined_allowed({"GUARDRAIL_Q6K_PIPELINED": text}) is allowed


def test_pipelining_is_allowed_where_the_variable_is_not_set():
    assert knob.pipelined_allowed({}) is True


@pytest.mark.parametrize("text", ["", "yes", "True", "2", " 1", "disabled"])
def test_any_other_spelling_is_refused_by_name(text):
    with pytest.raises(ValueError, match=r"GUARDRAIL_Q6K_PIPELINED is .*true, 1, on, false, 0, off"):
        knob.pipelined_allowed({"GUARDRAIL_Q6K_PIPELINED": text})
