import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from guardrail.kernels.int4_attention import launch, reference, rotation
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache
from helpers.stock_writer import stock_module

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KEYS, TOKENS, KV_HEADS, GROUP, SEGMENTS = 48, 2, 1, 3, 2

SIGNS_OF_16 = [1, -1, 1, 1, -1, -1, -1, -1, 1, -1, -1, 1, 1, -1, 1, -1]
"""vLLM's first signs."""

HEAD_SIZES = pytest.mark.parametrize("head_size", [80, 96, 256])
ARMS = pytest.mark.parametrize("arm", ["2d", "3d"])


def make_batch(head_size: int) -> tuple[launch.Batch, torch.Tensor]:
    """Write unrotated keys and values with the kernel; give the batch and plain attention over them."""
    generator = torch.Generator().manual_seed(21)
    key, value = torch.randn(2, KEYS, KV_HEADS, head_size, generator=generator).half()
    query = torch.randn(TOKENS, KV_HEADS * GROUP, head_size, generator=generator).half()
    signs = rotation.signs(head_size, DEVICE)
    cache = make_cache(KEYS // 16, KV_HEADS, 16, head_size, DEVICE)
    slots = torch.arange(KEYS, device=DEVICE)
    launch.run_write(key.to(DEVICE), value.to(DEVICE), slots, cache_views(cache), signs)
    batch = launch.Batch(
        queries=query.to(DEVICE),
        cache=cache_views(cache),
        block_table=torch.arange(KEYS // 16, dtype=torch.int32, device=DEVICE)[None],
        seq_lens=torch.tensor([KEYS], dtype=torch.int32, device=DEVICE),
        query_starts=torch.tensor([0, TOKENS], dtype=torch.int32, device=DEVICE),
        max_query_len=TOKENS,
        score_scale=head_size**-0.5,
        signs=signs,
    )
    score = torch.einsum("qhd,khd->hqk", query.double(), key.double().repeat_interleave(GROUP, 1))
    own = torch.arange(KEYS - TOKENS, KEYS)[:, None]
    hidden = torch.arange(KEYS)[None] > own
    weight = torch.softmax((score * batch.score_scale).masked_fill(hidden, -math.inf), -1)
    return batch, torch.einsum("hqk,khd->qhd", weight, value.double().repeat_interleave(GROUP, 1))


def run(batch: launch.Batch, arm: str) -> torch.Tensor:
    output = torch.full_like(batch.queries, math.nan)
    if arm == "2d":
        launch.run_2d(batch, output)
    else:
        shape = (KV_HEADS, batch.queries.shape[0], GROUP, SEGMENTS)
        padded = 1 << (batch.cache.head_size - 1).bit_length()
        scratch = (torch.full(each, math.nan, device=DEVICE) for each in ((*shape, padded), shape, shape))
        launch.run_3d(batch, output, launch.Scratch(*scratch))
    return output.double().cpu()


def exact(batch: launch.Batch) -> torch.Tensor:
    """Rotate, attend over the cached bytes and rotate back in float64."""
    scale = batch.score_scale / rotation.block_size(batch.cache.head_size)
    attended = reference.attention(
        rotation.rotate(batch.queries), batch.cache, batch.block_table, [TOKENS], [KEYS], scale
    )
    return rotation.rotate_back(attended).cpu()


def relative_error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    return float((actual - expected).norm() / expected.norm())


@pytest.mark.parametrize(("head_size", "block"), [(64, 64), (80, 16), (96, 32), (128, 128), (256, 256)])
def test_a_rotation_there_multiplies_lengths_and_one_back_undoes_it(head_size: int, block: int) -> None:
    rows = torch.randn(7, head_size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rotated = rotation.rotate(rows)
    assert rotation.block_size(head_size) == block
    assert torch.allclose(rotated.norm(dim=-1), rows.norm(dim=-1) * block**0.5)
    assert torch.allclose(rotation.rotate_back(rotated), rows)


def test_signs_are_those_of_the_format() -> None:
    assert rotation.signs(80).tolist() == SIGNS_OF_16
    assert rotation.signs(256)[:16].tolist() == SIGNS_OF_16


def test_a_unit_row_becomes_a_row_of_the_matrix() -> None:
    row = torch.zeros(64)
    row[5] = 1.0
    sign = float(rotation.signs(64)[5])
    parities = [sign * (-1) ** (5 & column).bit_count() for column in range(64)]
    assert rotation.rotate(row).tolist() == parities


@HEAD_SIZES
@ARMS
def test_attention_over_a_rotated_cache_is_plain_attention_but_for_quantization(
    head_size: int, arm: str
) -> None:
    batch, plain = make_batch(head_size)
    assert relative_error(run(batch, arm), plain) < 0.2


@ARMS
def test_forgotten_signs_show(arm: str) -> None:
    batch, plain = make_batch(64)
    wrong = replace(batch, signs=torch.ones_like(batch.signs))
    assert relative_error(run(wrong, arm), plain) > 0.5


@HEAD_SIZES
@ARMS
def test_queries_and_outputs_are_rotated_as_in_float64(head_size: int, arm: str) -> None:
    batch, _ = make_batch(head_size)
    assert relative_error(run(batch, arm), exact(batch)) < 1e-3


@ARMS
def test_padded_tokens_stay_untouched_by_the_rotation(arm: str) -> None:
    batch, _ = make_batch(64)
    padded = replace(batch, queries=torch.cat([batch.queries, batch.queries]))
    output = run(padded, arm)
    assert torch.equal(output[:TOKENS], run(batch, arm))
    assert torch.isnan(output[TOKENS:]).all()


@HEAD_SIZES
@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning"
)  # vLLM divides zero by zero in rows that it does not store
def test_outputs_are_those_of_vllm(monkeypatch: pytest.MonkeyPatch, head_size: int) -> None:
    stock: Any = stock_module(monkeypatch)
    batch, _ = make_batch(head_size)
    half = head_size // 2 + 4
    token_major = batch.cache.words.view(torch.uint8).transpose(1, 2)
    theirs = torch.full_like(batch.queries, math.nan)
    absent = ("sinks", "alibi_slopes", "qq_bias", "output_scale", "mm_prefix_range")
    stock.unified_attention_int4(
        batch.queries,
        token_major[..., :half],
        token_major[..., half:],
        theirs,
        cu_seqlens_q=batch.query_starts,
        max_seqlen_q=TOKENS,
        seqused_k=batch.seq_lens,
        max_seqlen_k=KEYS,
        softmax_scale=batch.score_scale,
        window_size=(-1, -1),
        block_table=batch.block_table,
        softcap=0.0,
        use_alibi_sqrt=False,
        k_scale_cache=batch.cache.key_scales.transpose(1, 2),
        v_scale_cache=batch.cache.value_scales.transpose(1, 2),
        **dict.fromkeys(absent),
    )
    # On a GPU their products are TF32; how far they are from float64 is how far ours may be from them.
    theirs_from_exact = relative_error(theirs.double().cpu(), exact(batch))
    assert theirs_from_exact < 2e-2
    for arm in ("2d", "3d"):
        assert relative_error(run(batch, arm), theirs.double().cpu()) < theirs_from_exact + 1e-3
