from guardrail.kernels.q6k import knob


def test_the_variable_turns_pipelining_off():
    assert knob.pipelined_allowed({"GUARDRAIL_Q6K_PIPELINED": "off"}) is False
    assert knob.pipelined_allowed({"GUARDRAIL_Q6K_PIPELINED": "1"}) is True


def test_pipelining_is_allowed_where_the_variable_is_not_set():
    assert knob.pipelined_allowed({}) is True
