"""Both attention arms at real sizes against float64, on inputs that differ in every run."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from guardrail.kernels.int4_attention import launch
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache, row_bytes
from helpers.int4_batches import BLOCK_SIZE, DEVICE, DRAFTER, ROUNDING, TARGET, Heads, RandomBatch

pytestmark = pytest.mark.gpu

HEADS = pytest.mark.parametrize("heads", [TARGET, DRAFTER], ids=lambda heads: heads.name)
ARMS = pytest.mark.parametrize("arm", ["2d", "3d"])
CONTEXTS = [6747, 24_576]
FAR_BYTES = [2**31, 2**33]
"""Offsets that block ids pass: 2**31 bytes, and 2**31 of the words that attention counts in."""


@HEADS
@ARMS
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("sequences", [1, 8])
def test_long_contexts_stay_in_the_rounding_class(
    heads: Heads, arm: str, context: int, sequences: int, seed: int
) -> None:
    case = RandomBatch(heads, [8] * sequences, [context] * sequences, seed)
    case.run(arm, segments=33)
    case.require_right()


@HEADS
@ARMS
def test_a_sequence_without_keys_gives_zeros(heads: Heads, arm: str, seed: int) -> None:
    case = RandomBatch(heads, [5, 8, 1], [0, 700, 0], seed)
    case.run(arm)
    assert (case.output[:5] == 0).all(), f"seed {seed}"
    assert (case.output[13] == 0).all(), f"seed {seed}"
    case.require_right()


@HEADS
@ARMS
def test_rows_that_pad_a_captured_batch_do_no_harm(heads: Heads, arm: str, seed: int) -> None:
    # Sequences that a graph pads with have one key and as many query tokens as the others.
    case = RandomBatch(heads, [8, 8, 8], [1000, 1, 1], seed, padding=8)
    case.run(arm)
    for first in (8, 16):
        assert (case.output[first : first + 7] == 0).all(), f"seed {seed}"
        assert (case.output[first + 7] != 0).any(), f"seed {seed}"
    case.require_right()


@HEADS
@ARMS
@pytest.mark.parametrize(
    "options",
    [{"window": 100}, {"window": 1000}, {"softcap": 2.0}, {"sinks": True}, {"window": 37, "sinks": True}],
    ids=str,
)
def test_windows_softcaps_and_sinks_are_right(
    heads: Heads, arm: str, options: dict[str, Any], seed: int
) -> None:
    plain = RandomBatch(heads, [1, 8, 3], [1101, 1108, 1103], seed).expected()
    if options.get("sinks"):
        options = options | {"sinks": torch.linspace(-3.0, 9.0, heads.kv_heads * heads.group, device=DEVICE)}
    case = RandomBatch(heads, [1, 8, 3], [1101, 1108, 1103], seed, **options)
    case.run(arm)
    case.require_right()
    assert (case.expected() - plain).norm() > 0.05 * plain.norm(), "the option changes nothing"


def token_major(blocks: int, heads: Heads) -> torch.Tensor:
    """Make a cache whose heads lie within a token."""
    shape = (blocks, BLOCK_SIZE, heads.kv_heads, row_bytes(heads.head_size))
    return torch.full(shape, 0xFF, dtype=torch.uint8, device=DEVICE).transpose(1, 2)


def layer_of_a_page(blocks: int, heads: Heads) -> torch.Tensor:
    """Make a cache whose blocks lie between those of two other layers."""
    shape = (blocks, 3, heads.kv_heads, BLOCK_SIZE, row_bytes(heads.head_size))
    return torch.full(shape, 0xFF, dtype=torch.uint8, device=DEVICE)[:, 1]


def padded_rows(blocks: int, heads: Heads) -> torch.Tensor:
    """Make a cache with unused bytes behind each row."""
    shape = (blocks, heads.kv_heads, BLOCK_SIZE, row_bytes(heads.head_size) + 24)
    return torch.full(shape, 0xFF, dtype=torch.uint8, device=DEVICE)[..., :-24]


@HEADS
@ARMS
@pytest.mark.parametrize("layout", [token_major, layer_of_a_page, padded_rows])
def test_strides_with_inline_scales_are_the_tensor_s(heads: Heads, arm: str, layout: Any, seed: int) -> None:
    case = RandomBatch(heads, [8, 3], [500, 77], seed, cache=layout(40, heads))
    case.run(arm)
    case.require_right()


@pytest.mark.parametrize("far", FAR_BYTES)
def test_block_ids_beyond_32_bits_of_address_are_written_and_read(far: int, seed: int) -> None:
    block_bytes = TARGET.kv_heads * BLOCK_SIZE * row_bytes(TARGET.head_size)
    first = far // block_bytes + 1
    cache = torch.empty((first + 40) * block_bytes, dtype=torch.uint8, device=DEVICE).view(
        first + 40, TARGET.kv_heads, BLOCK_SIZE, -1
    )
    cache[:40] = 0xFF
    cache[first:] = 0xFF
    blocks = torch.arange(first, first + 40, device=DEVICE)
    case = RandomBatch(TARGET, [8, 3], [500, 77], seed, cache=cache, blocks=blocks)
    assert int(case.batch.block_table.max()) * block_bytes > far
    for arm in ("2d", "3d"):
        case.run(arm)
        case.require_right()

    near = make_cache(40, TARGET.kv_heads, BLOCK_SIZE, TARGET.head_size, DEVICE).fill_(0xFF)
    generator = torch.Generator(DEVICE).manual_seed(seed)
    key, value = torch.randn(
        2, 64, TARGET.kv_heads, TARGET.head_size, generator=generator, device=DEVICE
    ).half()
    slots = torch.randperm(40 * BLOCK_SIZE, generator=generator, device=DEVICE)[:64]
    launch.run_write(key, value, slots, cache_views(near))
    cache[first:] = 0xFF
    launch.run_write(key, value, slots + first * BLOCK_SIZE, cache_views(cache))
    assert torch.equal(cache[first:], near), f"seed {seed}"
    assert (near != 0xFF).any()


def with_a_masked_segment(heads: Heads, mean_score: float, seed: int) -> tuple[RandomBatch, launch.Scratch]:
    """Make a batch whose last segment is visited, and fully masked for the first four of its eight tokens."""
    tile = RandomBatch(heads, [8], [8], seed).batch.shape().tile
    case = RandomBatch(heads, [8], [4 * tile + 4], seed, mean_score=mean_score)
    scratch = case.scratch(segments=5)
    launch.launch_segments(case.batch, scratch, case.batch.shape())
    masked = scratch.maxima[:, :, :, 4] == -torch.inf
    assert masked.all(2).all(0).tolist() == [True] * 4 + [False] * 4, f"seed {seed}"
    return case, scratch


@HEADS
@pytest.mark.parametrize("mean_score", [-100.0, -300.0])
def test_a_masked_segment_does_not_outweigh_scores_far_below_zero(
    heads: Heads, mean_score: float, seed: int
) -> None:
    case, scratch = with_a_masked_segment(heads, mean_score, seed)
    launch.launch_reduction(case.batch, case.output, scratch, case.batch.shape())
    case.require_right()
    case.run("2d")
    case.require_right()


@HEADS
@pytest.mark.parametrize("mean_score", [-100.0, -300.0])
def test_a_maximum_of_zero_for_a_masked_segment_is_seen(heads: Heads, mean_score: float, seed: int) -> None:
    case, scratch = with_a_masked_segment(heads, mean_score, seed)
    scratch.maxima.masked_fill_(scratch.maxima == -torch.inf, 0.0)
    launch.launch_reduction(case.batch, case.output, scratch, case.batch.shape())
    norm, _ = case.errors_in_classes(case.expected())
    assert norm > 2 * ROUNDING, f"seed {seed}: the planted bug makes {norm:.2f} errors of the class"
    if mean_score == -300:
        assert (case.output[:4] == 0).all(), f"seed {seed}"


@HEADS
def test_the_segments_of_the_planted_bug_are_right_where_scores_are_around_zero(
    heads: Heads, seed: int
) -> None:
    case, scratch = with_a_masked_segment(heads, 0.0, seed)
    scratch.maxima.masked_fill_(scratch.maxima == -torch.inf, 0.0)
    launch.launch_reduction(case.batch, case.output, scratch, case.batch.shape())
    case.require_right()


@HEADS
@ARMS
def test_queries_and_outputs_may_be_strided(heads: Heads, arm: str, seed: int) -> None:
    case = RandomBatch(heads, [8, 3], [500, 77], seed)
    tokens, query_heads, head_size = case.batch.queries.shape
    fused = torch.full((tokens, query_heads + 2, head_size), torch.nan, dtype=torch.float16, device=DEVICE)
    fused[:, 1:-1] = case.batch.queries
    case.batch = replace(case.batch, queries=fused[:, 1:-1])
    case.output = torch.full_like(fused, torch.nan)[:, 1:-1]
    case.run(arm)
    case.require_right()
