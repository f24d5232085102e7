"""The seed's ten batches at real sizes, through the plan, the pool, the rule and the launcher."""

import logging

import pytest
import torch

from guardrail.adapters.launches import recorded
from helpers.int4_batches import DRAFTER, LAUNCHES, TARGET, Heads, RandomBatch
from helpers.int4_engine import Engine

pytestmark = pytest.mark.gpu

HEADS = pytest.mark.parametrize("heads", [TARGET, DRAFTER], ids=lambda heads: heads.name)
CASES = [[1], [16], [17], [8, 8], [16, 1], [1, 8, 3], [4, 0, 3], [9], [848]]
TOO_LONG = "max_query_len_policy>16"


def against(query_lens: list[int], leg: str) -> tuple[str, ...]:
    """List by hand what stands against the 3D arm."""
    reasons = []
    if leg == "flag off" and max(query_lens) > 1:
        reasons.append("mq_but_flag_off")
    if max(query_lens) > 16:
        reasons.append(TOO_LONG)
    if leg == "batch invariant":
        reasons.append("batch_invariant_guard")
    return tuple(reasons)


@HEADS
@pytest.mark.parametrize("history", [48, 1500])
@pytest.mark.parametrize("leg", ["flag on", "flag off", "batch invariant"])
@pytest.mark.parametrize("query_lens", CASES, ids=str)
def test_a_batch_takes_the_arm_that_the_rule_names_and_is_right(
    heads: Heads, history: int, leg: str, query_lens: list[int], seed: int
) -> None:
    case = RandomBatch(heads, query_lens, [history + count for count in query_lens], seed)
    engine = Engine(heads)
    reasons = against(query_lens, leg)
    with recorded() as launched:
        decision, segments = engine.attend(
            case, multi_query=leg != "flag off", batch_invariant=leg == "batch invariant"
        )
    assert (decision.arm, decision.reasons) == ("2d" if reasons else "3d", reasons)
    assert launched == LAUNCHES[decision.arm]
    case.require_right()
    untouched = [bool(torch.isnan(tensor).all()) for tensor in engine.scratch]
    assert untouched == [decision.arm == "2d"] * 3
    if segments is not None:
        assert (segments > 1) == (history > 100)
    assert (engine.breaches.count, engine.breaches.degraded, engine.breaches.first) == (0, False, None)


@HEADS
def test_batches_beyond_the_scratch_are_counted_and_the_first_is_kept(
    heads: Heads, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(heads)
    assert engine.held.plan.rows == 32
    with caplog.at_level(logging.ERROR), recorded() as launched:
        for count, query_lens in enumerate(([16] * 3, [16] * 4), start=1):
            case = RandomBatch(heads, query_lens, [64] * len(query_lens), seed)
            decision, _ = engine.attend(case)
            assert (decision.arm, decision.reasons) == ("2d", ("q_token_capacity_failed",))
            assert (engine.breaches.count, engine.breaches.degraded) == (count, True)
            case.require_right()
            assert all(torch.isnan(tensor).all() for tensor in engine.scratch)
    assert launched == LAUNCHES["2d"] * 2
    first = engine.breaches.first
    assert first is not None
    assert (first.tokens, first.sequences, first.max_query_len) == (48, 3, 16)
    assert first.scratch_rows == (32, 32, 32)
    (line,) = caplog.records
    assert "tokens=48" in line.getMessage()


@HEADS
def test_after_a_breach_a_batch_that_fits_takes_the_fast_arm_and_the_flag_stays(
    heads: Heads, seed: int
) -> None:
    engine = Engine(heads)
    engine.attend(RandomBatch(heads, [16] * 3, [64] * 3, seed))
    case = RandomBatch(heads, [16, 16], [600, 64], seed)
    decision, _ = engine.attend(case)
    assert (decision.arm, decision.reasons) == ("3d", ())
    case.require_right()
    assert (engine.breaches.count, engine.breaches.degraded) == (1, True)
