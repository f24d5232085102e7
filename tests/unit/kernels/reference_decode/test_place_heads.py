"""Heads from the products' output to rotated queries and cached bytes."""

from dataclasses import dataclass

import pytest
import torch

from guardrail.kernels.int4_attention import launch as int4_launch
from guardrail.kernels.int4_attention import reference, rotation
from guardrail.kernels.int4_attention.cache_layout import CacheViews, cache_views, make_cache
from guardrail.kernels.reference_decode import launch
from guardrail.kernels.reference_decode.places import Places, allocate_places

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
QUERY_HEADS, KV_HEADS = 4, 2
TURNED, HEADS = QUERY_HEADS + KV_HEADS, QUERY_HEADS + 2 * KV_HEADS
BLOCK_SIZE = 16


def sixty_fourths(*shape: int, seed: int, bound: int = 400) -> torch.Tensor:
    """Draw numbers whose products and sums float32 holds exactly, so that no order of rounding matters."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-bound, bound + 1, shape, generator=generator).to(DEVICE).float() / 64


@dataclass(frozen=True)
class Inputs:
    """What the heads of some tokens are made of."""

    columns: torch.Tensor
    bias: torch.Tensor | None
    places: Places
    head_size: int
    interleaved: bool

    def turned(self) -> torch.Tensor:
        """Add the bias and turn queries and keys; [tokens, heads, head size]."""
        plain = self.columns if self.bias is None else self.columns + self.bias
        heads = plain.unflatten(-1, (HEADS, self.head_size))
        split = (-1, 2) if self.interleaved else (2, -1)
        pairs = heads[:, :TURNED].unflatten(-1, split)
        first, second = pairs.unbind(-1 if self.interleaved else -2)
        cosine, sine = (
            each.to(plain.dtype).unsqueeze(1) for each in (self.places.cosines, self.places.sines)
        )
        turned = (first * cosine - second * sine, second * cosine + first * sine)
        rows = torch.stack(turned, dim=-1 if self.interleaved else -2).flatten(-2)
        return torch.cat([rows, heads[:, TURNED:]], dim=1)

    def place(self) -> tuple[torch.Tensor, CacheViews]:
        """Run the kernel; give rotated queries and the cache."""
        tokens, signs = len(self.columns), rotation.signs(self.head_size, DEVICE)
        queries = torch.full(
            [tokens, QUERY_HEADS, self.head_size], torch.nan, dtype=torch.float16, device=DEVICE
        )
        cache = empty_cache(self.head_size)
        # Rows of values are another length apart than those of queries and keys.
        query_key = self.columns[:, : TURNED * self.head_size].contiguous()
        value = self.columns[:, TURNED * self.head_size :]
        launch.run_place_heads(
            query_key, value, self.bias, self.places, signs, queries, cache, interleaved=self.interleaved
        )
        return queries, cache


def empty_cache(head_size: int) -> CacheViews:
    return cache_views(make_cache(2, KV_HEADS, BLOCK_SIZE, head_size, DEVICE).fill_(0xA5))


def drawn(tokens: int, head_size: int, interleaved: bool = False, biased: bool = True) -> Inputs:
    places = allocate_places(tokens, head_size, DEVICE)
    places.cosines.copy_(sixty_fourths(tokens, head_size // 2, seed=1, bound=64))
    places.sines.copy_(sixty_fourths(tokens, head_size // 2, seed=2, bound=64))
    places.slots.copy_(torch.tensor([17, -1, 3])[:tokens])
    return Inputs(
        columns=sixty_fourths(tokens, HEADS * head_size, seed=3),
        bias=sixty_fourths(HEADS * head_size, seed=4) if biased else None,
        places=places,
        head_size=head_size,
        interleaved=interleaved,
    )


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("tokens", "head_size"), [(1, 64), (3, 80), (3, 128), (1, 256)])
def test_bytes_are_those_of_the_cache_writer_and_the_query_rotation(
    tokens: int, head_size: int, interleaved: bool, biased: bool
) -> None:
    inputs = drawn(tokens, head_size, interleaved, biased)
    heads, signs = inputs.turned().half(), rotation.signs(head_size, DEVICE)
    cache = empty_cache(head_size)
    int4_launch.run_write(heads[:, QUERY_HEADS:TURNED], heads[:, TURNED:], inputs.places.slots, cache, signs)
    queries = torch.empty_like(heads[:, :QUERY_HEADS])
    int4_launch.rotate_queries(batch(heads[:, :QUERY_HEADS], cache, inputs.places), queries)
    placed, placed_cache = inputs.place()
    assert torch.equal(placed, queries)
    assert torch.equal(placed_cache.words, cache.words)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("head_size", [64, 80])
def test_heads_are_turned_by_their_position_and_values_are_not(head_size: int, interleaved: bool) -> None:
    inputs = drawn(3, head_size, interleaved)
    frequencies = 100.0 ** (-2 * torch.arange(head_size // 2, device=DEVICE) / head_size)
    angles = torch.tensor([[0.0], [5.0], [40.0]], device=DEVICE) * frequencies
    inputs.places.cosines.copy_(angles.cos())
    inputs.places.sines.copy_(angles.sin())
    inputs.places.slots.copy_(torch.tensor([17, 2, 3]))
    queries, cache = inputs.place()
    plain = (inputs.columns + inputs.bias).double().view(3, HEADS, head_size)
    pairs = plain.unflatten(-1, (-1, 2)) if interleaved else plain.unflatten(-1, (2, -1)).transpose(-1, -2)
    unit = torch.polar(torch.ones_like(angles, dtype=torch.float64), angles.double()).unsqueeze(1)
    numbers = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * unit)
    turned = numbers.flatten(-2) if interleaved else numbers.transpose(-1, -2).flatten(-2)
    torch.testing.assert_close(rotation.rotate_back(queries), turned[:, :QUERY_HEADS], rtol=2e-3, atol=2e-2)
    block, offset = inputs.places.slots // BLOCK_SIZE, inputs.places.slots % BLOCK_SIZE
    keys = reference.dequantize(cache.key_bytes[block, :, offset], cache.key_scales[block, :, offset])
    values = reference.dequantize(cache.value_bytes[block, :, offset], cache.value_scales[block, :, offset])
    # Fifteen steps across a row of normal numbers leave an eighth of their deviation.
    assert relative_error(rotation.rotate_back(keys), turned[:, QUERY_HEADS:TURNED]) < 0.15
    assert relative_error(rotation.rotate_back(values), plain[:, TURNED:]) < 0.15


def test_a_token_without_a_slot_leaves_the_cache_alone_and_has_queries_all_the_same() -> None:
    inputs = drawn(1, 64)
    inputs.places.slots.fill_(-1)
    queries, cache = inputs.place()
    assert queries.isfinite().all()
    assert torch.equal(cache.words, empty_cache(64).words)


def test_attention_over_rotated_queries_is_that_over_plain_ones() -> None:
    inputs = drawn(1, 64)
    heads = inputs.turned().half()
    queries, cache = inputs.place()
    plain, rotated = torch.empty(2, 1, QUERY_HEADS, 64, dtype=torch.float16, device=DEVICE)
    int4_launch.run_2d(batch(heads[:, :QUERY_HEADS], cache, inputs.places), plain)
    before = queries.clone()
    int4_launch.run_2d(batch(queries, cache, inputs.places, rotated=True), rotated)
    assert torch.equal(rotated, plain)
    assert torch.equal(queries, before)


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return ((found - expected).norm() / expected.norm()).item()


def batch(
    queries: torch.Tensor, cache: CacheViews, places: Places, rotated: bool = False
) -> int4_launch.Batch:
    # The one key that a lone token wrote lies in slot 17: the second block's second token.
    places.seq_lens.fill_(2)
    return int4_launch.Batch(
        queries=queries,
        cache=cache,
        block_table=torch.ones(len(queries), 1, dtype=torch.int32, device=DEVICE),
        seq_lens=places.seq_lens,
        query_starts=places.query_starts,
        max_query_len=1,
        score_scale=0.125,
        signs=rotation.signs(cache.head_size, DEVICE),
        queries_rotated=rotated,
    )
