"""From a call to what runs: decided, divided, launched and counted."""

from dataclasses import replace

import torch

from helpers.int4_batches import Heads, RandomBatch
from helpers.int4_engine import Engine

SMALL = Heads("small", kv_heads=2, group=2, head_size=64)


def test_an_admitted_batch_runs_split_in_the_engine_s_scratch_and_is_counted():
    engine = Engine(SMALL)
    case = RandomBatch(SMALL, [3, 1], [300, 70], seed=1)

    decision, segments = engine.attend(case)

    assert (decision.arm, segments) == ("3d", 2)
    case.require_right()
    (row,) = engine.attention.census.record().taken
    assert (row.query_len, row.arm, row.segments, row.eligible, row.calls) == (3, "3d", 2, True, 1)


def test_a_batch_that_the_scratch_cannot_hold_runs_in_one_pass_and_is_a_breach():
    engine = Engine(SMALL)
    case = RandomBatch(SMALL, [16, 16, 1], [16, 16, 1], seed=2)

    decision, segments = engine.attend(case)

    assert (decision.arm, decision.reasons, segments) == ("2d", ("q_token_capacity_failed",), None)
    case.require_right()
    assert all(torch.isnan(tensor).all() for tensor in engine.scratch)
    record = engine.attention.census.record()
    assert (record.breaches, record.degraded, [row.eligible for row in record.taken]) == (1, True, [True])


def test_an_engine_s_own_limit_of_query_tokens_decides():
    engine = Engine(SMALL)
    engine.attention = replace(engine.attention, options=replace(engine.options, max_query_len=8))

    decision, _ = engine.attend(RandomBatch(SMALL, [9], [9], seed=3))

    assert (decision.arm, decision.reasons[0]) == ("2d", "max_query_len_policy>8")
