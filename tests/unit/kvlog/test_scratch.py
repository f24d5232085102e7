import logging

import pytest

from guardrail.kernels.int4_attention import plan
from guardrail.kernels.int4_attention.scratch import ScratchPool
from guardrail.kernels.int4_attention.scratch_plan import ScratchPlan, layer_of, seed_layout
from guardrail.kvlog.scratch import ScratchLine, read_scratch

SEED = (
    "int4 3D scratch: capacity=64 query tokens (min of max_num_batched_tokens=2048, min(max_num_seqs=4, "
    "seq_threshold_3D=32) * max_query_len_3d=16): 396288 B/row, 24.19 MiB"
)


LOADED = f"{SEED}, allocated at model load (inside the memory profile)"
LATE = f"{SEED}, allocated at the builder (AFTER the memory profile: these bytes are not in the KV budget"
ADOPTED = "int4 3D scratch: capacity=64 query tokens adopted by the metadata builder (derived 64"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LOADED, ScratchLine(25_362_432, profiled=True)),
        (f"{LATE})", ScratchLine(25_362_432)),
        (f"{LATE}; ubatching: builders do not share a set)", ScratchLine(25_362_432)),
        (f"{SEED} for this instance", ScratchLine(25_362_432, pooled=False)),
        (f"{ADOPTED}; allocated at model load)", ScratchLine(adopted=True)),
        ("int4 attention is fast", None),
    ],
)
def test_the_patched_engine_s_lines_are_read(text, found):
    assert read_scratch(text) == found


class Builder:
    """A metadata builder, of which only its life matters."""


def planned(sequences: int) -> ScratchPlan:
    engine = plan.Engine(max_num_batched_tokens=2048, max_num_seqs=sequences, seq_threshold=32)
    return seed_layout(engine, layer_of(24, 4, 256, 132, (9, 0)))


def test_the_lines_that_guardrail_s_pool_writes_are_read(caplog):
    caplog.set_level(logging.INFO, "guardrail.kernels.int4_attention.scratch")
    pool, builders = ScratchPool(lambda plan, device: None), (Builder(), Builder())
    pool.load(planned(4), "cuda:0")
    pool.adopt(planned(4), "cuda:0", builders[0])
    pool.adopt(planned(8), "cuda:0", builders[1])
    assert [read_scratch(record.getMessage()) for record in caplog.records] == [
        ScratchLine(64 * 396_288, profiled=True),
        ScratchLine(adopted=True),
        ScratchLine(128 * 396_288),
    ]
