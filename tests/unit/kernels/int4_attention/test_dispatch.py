import logging
from dataclasses import replace

import pytest

from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.dispatch import Call, Decision, decide, is_breach


def call_of(*query_lens: int, rows: int = 32) -> Call:
    """Ask for a batch against a scratch of so many rows, with a threshold of 32 sequences."""
    return Call(
        max_query_len=max(query_lens),
        sequences=len(query_lens),
        tokens=sum(query_lens),
        seq_threshold=32,
        segments=16,
        scratch_rows=(rows, rows, rows),
        declared_capacity=rows,
    )


@pytest.mark.parametrize("query_lens", [(1,), (16,), (8, 8), (16, 1), (1, 8, 3), (16, 16), (1,) * 32])
def test_batches_within_policy_and_capacity_take_3d(query_lens: tuple[int, ...]) -> None:
    assert decide(call_of(*query_lens)) == Decision("3d")


def test_policy_is_asked_before_capacity() -> None:
    assert decide(call_of(17, rows=16)).reasons == ("max_query_len_policy>16",)


def test_a_batch_beyond_capacity_takes_2d() -> None:
    assert decide(call_of(16, 16, 16)) == Decision("2d", ("q_token_capacity_failed",))
    assert decide(call_of(9, rows=8)) == Decision("2d", ("q_token_capacity_failed",))


def test_the_smallest_buffer_decides() -> None:
    call = replace(call_of(9), scratch_rows=(32, 8, 32), declared_capacity=None)
    assert decide(call).reasons == ("q_token_capacity_failed",)


def test_buffers_that_disagree_with_the_plan_are_told_apart() -> None:
    call = replace(call_of(9), declared_capacity=64)
    assert decide(call).reasons == ("buffers_disagree_with_declared_capacity",)


def test_single_tokens_never_meet_the_capacity_question() -> None:
    assert decide(call_of(1, 1, 1, 1, rows=2)).arm == "3d"


def test_the_engine_may_declare_another_query_length() -> None:
    assert decide(replace(call_of(17), query_len_cap=20)).arm == "3d"
    assert decide(replace(call_of(17), query_len_cap=8)).reasons == ("max_query_len_policy>8",)


def test_reasons_come_in_a_fixed_order() -> None:
    call = replace(call_of(*[17] * 33), seq_threshold=None, segments=None, scratch_rows=None)
    call = replace(call, multi_query=False, batch_invariant=True)
    assert decide(call).reasons == (
        "no_seq_threshold",
        "no_segments",
        "scratch_absent",
        "mq_but_flag_off",
        "max_query_len_policy>16",
        "batch_invariant_guard",
    )
    call = replace(call_of(*[9] * 33), declared_capacity=64, batch_invariant=True)
    assert decide(call).reasons == (
        "buffers_disagree_with_declared_capacity",
        "q_token_capacity_failed",
        "num_seqs_threshold_failed",
        "batch_invariant_guard",
    )


def test_missing_or_small_buffers_are_no_deliberate_reasons() -> None:
    assert decide(call_of(16, 16, 16)).deliberate == ()
    assert decide(replace(call_of(8), scratch_rows=None)).deliberate == ()
    assert decide(replace(call_of(8), multi_query=False)).deliberate == ("mq_but_flag_off",)


@pytest.mark.parametrize(
    ("call", "breach"),
    [
        (call_of(16, 16), False),
        (call_of(16, 16, 16), True),
        (call_of(17, 17), False),
        (call_of(*[1] * 33), False),
        (replace(call_of(8), scratch_rows=None), True),
        (replace(call_of(8), declared_capacity=64), True),
        (replace(call_of(16, 16, 16), multi_query=False), False),
    ],
)
def test_a_breach_is_admitted_work_that_does_not_fit(call: Call, breach: bool) -> None:
    assert is_breach(call) is breach


def test_breaches_are_counted_and_the_first_is_kept_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    state = BreachState()
    with caplog.at_level(logging.ERROR):
        state.observe(call_of(16, 16))
        assert (state.count, state.degraded, state.first) == (0, False, None)
        for query_lens in ((16, 16, 16), (16, 16, 16, 16), (8,)):
            state.observe(call_of(*query_lens))
    assert (state.count, state.degraded, state.first) == (2, True, call_of(16, 16, 16))
    (record,) = caplog.records
    assert "takes the 2D arm" in record.getMessage()
    assert "tokens=48" in record.getMessage()
