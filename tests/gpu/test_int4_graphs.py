"""The 3D arm captured once in a CUDA graph, and replayed with other lengths and block tables."""

import math
from collections.abc import Callable

import pytest
import torch

from guardrail.adapters.launches import recorded
from helpers.int4_batches import BLOCK_SIZE, DEVICE, DRAFTER, LAUNCHES, TARGET, Heads, RandomBatch
from helpers.int4_engine import Engine

pytestmark = pytest.mark.gpu

LONGEST = 4096
REPLAYS = [
    ([8, 8], [4096, 1500]),
    ([3, 8], [2300, 40]),
    ([1, 1], [65, 4096]),
    ([8, 0], [8, 0]),
    ([8, 8], [777, 1]),
    ([2, 3], [0, 3000]),
]


def captured(run: Callable[[], object]) -> Callable[[], None]:
    """Capture what `run` launches, after a first run that compiles it."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


@pytest.mark.parametrize("heads", [TARGET, DRAFTER], ids=lambda heads: heads.name)
def test_a_replay_follows_lengths_starts_and_tables_and_keeps_its_segments(heads: Heads, seed: int) -> None:
    blocks = LONGEST // BLOCK_SIZE
    engine = Engine(heads)
    first = RandomBatch(heads, [8, 8], [LONGEST, LONGEST], seed, padding=8, table_blocks=blocks)
    segments = engine.attention.segments(first.batch, LONGEST)
    assert segments > 2
    tile = first.batch.shape().tile
    scratch = engine.attention.view(first.batch.queries.shape[0], segments)
    with recorded() as launched:
        replay = captured(lambda: engine.attention.run(first.batch, first.output, LONGEST))
    assert launched == LAUNCHES["3d"] * 2

    for number, (query_lens, seq_lens) in enumerate(REPLAYS):
        padding = first.batch.queries.shape[0] - sum(query_lens)
        other = RandomBatch(
            heads, query_lens, seq_lens, seed + 1 + number, padding=padding, table_blocks=blocks
        )
        held = other.batch.cache.words.shape[0]
        assert held <= first.batch.cache.words.shape[0]
        first.batch.cache.words.fill_(-1)
        first.batch.cache.words[:held].copy_(other.batch.cache.words)
        for name in ("queries", "block_table", "seq_lens", "query_starts"):
            getattr(first.batch, name).copy_(getattr(other.batch, name))
        for tensor in (*engine.scratch, first.output):
            tensor.fill_(torch.nan)
        with recorded() as launched:
            replay()
        assert launched == []
        other.output.copy_(first.output)
        other.require_right()

        # A segment that starts behind a sequence's last key stays unwritten; all others are written.
        tokens = torch.tensor([0, *query_lens], device=DEVICE).cumsum(0).tolist()
        for sequence, seq_len in enumerate(seq_lens):
            length = max(1, math.ceil(math.ceil(seq_len / tile) / segments)) * tile
            expected = math.ceil(seq_len / length)
            rows = scratch.maxima[:, tokens[sequence] : tokens[sequence + 1]]
            written = (~torch.isnan(rows)).sum(-1)
            assert (written == expected).all(), f"seed {seed}, replay {number}, sequence {sequence}"
