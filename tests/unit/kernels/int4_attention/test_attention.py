from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from guardrail.kernels.int4_attention import launch, rotation
from guardrail.kernels.kquants import activations

TOLERANCE = 2.5e-3
"""Weights are rounded to fp16, 2^-11 of values up to 4, and so are outputs, up to 1."""

ARMS = pytest.mark.parametrize("arm", ["2d", "3d"])


def worst(actual: torch.Tensor, expected: torch.Tensor) -> float:
    return float((actual[: expected.shape[0]] - expected).abs().max())


@ARMS
@pytest.mark.parametrize(
    ("query_lens", "seq_lens"),
    [
        ([1], [45]),
        ([16], [70]),
        ([17], [40]),
        ([8, 8], [36, 9]),
        ([16, 1], [50, 33]),
        ([1, 8, 3], [20, 36, 3]),
        ([4, 0, 3], [34, 5, 64]),
    ],
)
def test_ragged_batches_match_the_reference(
    ragged: Callable[..., Any], arm: str, query_lens: list[int], seq_lens: list[int]
) -> None:
    case = ragged(query_lens, seq_lens)
    assert worst(case.run(arm), case.expected()) < TOLERANCE


@ARMS
@pytest.mark.parametrize(
    "axes",
    [
        {"kv_heads": 2, "group": 6},
        {"group": 16},
        {"kv_heads": 2, "group": 1},
        {"head_size": 96},
        {"head_size": 128},
        {"head_size": 256, "group": 6},
        {"block_size": 32},
        {"block_size": 24},
        {"block_size": 48},
        {"block_size": 128},
        {"head_size": 80},
        {"sinks": True, "group": 6},
        {"window": 5},
        {"window": 37},
        {"softcap": 0.5},
        {"head_major": False, "kv_heads": 2},
    ],
    ids=str,
)
def test_geometries_match_the_reference(ragged: Callable[..., Any], arm: str, axes: dict[str, Any]) -> None:
    case = ragged([6], [66], **axes)
    assert worst(case.run(arm), case.expected()) < TOLERANCE


def test_queries_of_several_programs_match_the_reference(ragged: Callable[..., Any]) -> None:
    case = ragged([23], [80], group=6, window=33)
    assert worst(case.run("2d"), case.expected()) < TOLERANCE


@pytest.mark.parametrize("segments", [1, 3, 5, 16])
def test_any_number_of_segments_matches_the_reference(ragged: Callable[..., Any], segments: int) -> None:
    case = ragged([2, 1], [131, 32], group=1)
    assert worst(case.run("3d", segments), case.expected()) < TOLERANCE


@ARMS
@pytest.mark.parametrize("mean_score", [-100.0, -300.0])
def test_a_fully_masked_segment_does_not_outweigh_scores_far_below_zero(
    ragged: Callable[..., Any], arm: str, mean_score: float
) -> None:
    # The first four query tokens stand before key 32, so that they see nothing of the second segment.
    case = ragged([8], [36], mean_score=mean_score)
    assert worst(case.run(arm), case.expected()) < TOLERANCE


@ARMS
def test_an_empty_sequence_gives_zeros(ragged: Callable[..., Any], arm: str) -> None:
    case = ragged([2, 3], [0, 40])
    output = case.run(arm)
    assert (output[:2] == 0).all()
    assert worst(output, case.expected()) < TOLERANCE


@ARMS
def test_tokens_before_the_first_key_get_zeros(ragged: Callable[..., Any], arm: str) -> None:
    case = ragged([8, 8], [1, 1])
    output = case.run(arm)
    assert (output[:7] == 0).all()
    assert (output[8:15] == 0).all()
    assert (output[7] != 0).any()
    assert worst(output, case.expected()) < TOLERANCE


@ARMS
def test_a_sink_takes_its_share_of_the_softmax_only(ragged: Callable[..., Any], arm: str) -> None:
    case = ragged([3, 2], [40, 0], sinks=True)
    output = case.run(arm)
    assert (output[3:] == 0).all()
    without = replace(case.batch, sinks=None)
    with_sinks, case.batch = case.batch, without
    ratio = output[:3] / case.run(arm)[:3]
    share = ratio.mean(-1, keepdim=True)
    assert float((ratio - share).abs().max()) < 0.01
    assert float(share.max()) < 1.0
    case.batch = with_sinks
    assert worst(output, case.expected()) < TOLERANCE


@ARMS
@pytest.mark.parametrize("sink", [-300.0, 300.0])
def test_sinks_far_from_the_scores_do_not_overflow(ragged: Callable[..., Any], arm: str, sink: float) -> None:
    case = ragged([2], [40], sinks=True)
    case.batch = replace(case.batch, sinks=torch.full_like(case.batch.sinks, sink))
    assert worst(case.run(arm), case.expected()) < TOLERANCE


@ARMS
def test_what_a_block_held_behind_the_last_key_does_not_matter(ragged: Callable[..., Any], arm: str) -> None:
    case = ragged([2], [37])
    last_block = int(case.batch.block_table[0, 2])
    case.batch.cache.words[last_block, :, 5:] = -1
    output = case.run(arm)
    assert torch.isfinite(output).all()
    assert worst(output, case.expected()) < TOLERANCE


@ARMS
def test_padded_tokens_stay_untouched(ragged: Callable[..., Any], arm: str) -> None:
    case = ragged([3, 0], [40, 0], padding=5)
    output = case.run(arm)
    assert torch.isnan(output[3:]).all()
    assert worst(output[:3], case.expected()) < TOLERANCE


@ARMS
@pytest.mark.parametrize("factor", [1e-5, 1e3])
def test_the_magnitude_of_the_values_costs_no_precision(
    ragged: Callable[..., Any], arm: str, factor: float
) -> None:
    case = ragged([2], [40])
    scales = case.batch.cache.value_scales
    bits = scales.contiguous().view(torch.int32)
    hidden = bits & 15
    scaled = ((bits - hidden).view(torch.float32) * factor).view(torch.int32)
    scales.copy_(((scaled & -16) | hidden).view(torch.float32))
    case.batch = replace(case.batch, queries=case.batch.queries.float())
    expected = case.expected()
    assert worst(case.run(arm), expected) < TOLERANCE * factor


def test_a_scratch_of_too_few_rows_is_refused(ragged: Callable[..., Any]) -> None:
    case, smaller = ragged([4], [8]), ragged([3], [8])
    with pytest.raises(ValueError, match="expected 4 contiguous token rows or more"):
        launch.launch_segments(case.batch, smaller.scratch(4), case.batch.shape())


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("head_size", [64, 96, 128])
def test_quantized_outputs_are_the_groups_of_what_is_written_otherwise(
    ragged: Callable[..., Any], head_size: int, rotated: bool
) -> None:
    case = ragged([2, 1], [40, 21], group=2, kv_heads=2, head_size=head_size)
    if rotated:
        case.batch = replace(case.batch, signs=rotation.signs(head_size, case.batch.queries.device))
    written = case.run("3d")
    shape = (3, 4 * head_size // 32, 40)
    groups = torch.full(shape, 255, dtype=torch.uint8, device=case.batch.queries.device)
    case.batch = replace(case.batch, quantized=groups)
    case.run("3d")
    assert torch.equal(groups.cpu(), activations.quantize(written.flatten(1)))


def test_heads_that_are_no_whole_groups_are_not_quantized(ragged: Callable[..., Any]) -> None:
    case = ragged([1], [8], head_size=80)
    case.batch = replace(case.batch, quantized=torch.zeros(1, 8, 40, dtype=torch.uint8))
    with pytest.raises(ValueError, match="a head size of 80 is no whole number of q8 groups of 32"):
        case.run("3d")
