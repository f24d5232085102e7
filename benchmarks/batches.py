"""Attention calls of any size over a random cache, made on the GPU."""

import math
from dataclasses import dataclass, replace

import torch

from guardrail.kernels.int4_attention import launch, plan, tuning
from guardrail.kernels.int4_attention.cache_layout import cache_views, row_bytes

BLOCK_SIZE = 16


@dataclass(frozen=True, slots=True)
class Geometry:
    """The heads of an attention layer."""

    query_heads: int
    kv_heads: int
    head_size: int

    def __str__(self) -> str:
        """Write it as in the tables."""
        return f"{self.query_heads}/{self.kv_heads} heads of {self.head_size}"


@dataclass(frozen=True, slots=True)
class Size:
    """A batch of sequences of one length."""

    sequences: int
    query_len: int
    context: int
    """Keys of each sequence, those of the query tokens included."""

    def __str__(self) -> str:
        """Write it as in the tables."""
        return f"{self.sequences} x {self.query_len} at {self.context:,}"

    def cache_bytes(self, geometry: Geometry) -> int:
        """Count the cached bytes that the call must read once."""
        return self.sequences * self.context * geometry.kv_heads * row_bytes(geometry.head_size)


def make_cache(geometry: Geometry, blocks: int, seed: int, device: str) -> torch.Tensor:
    """Fill a cache with random levels, scales from 0.05 to 0.15 and zero points from 4 to 11."""
    generator = torch.Generator(device=device).manual_seed(seed)
    shape = (blocks, geometry.kv_heads, BLOCK_SIZE, row_bytes(geometry.head_size))
    cache = torch.randint(0, 256, shape, dtype=torch.uint8, device=device, generator=generator)
    views = cache_views(cache)
    for scales in (views.key_scales, views.value_scales):
        bits = (torch.rand(scales.shape, device=device, generator=generator) * 0.1 + 0.05).view(torch.int32)
        zero_points = torch.randint(4, 12, bits.shape, device=device, generator=generator, dtype=torch.int32)
        scales.copy_(((bits & -16) | zero_points).view(torch.float32))
    return cache


def make_batch(geometry: Geometry, size: Size, seed: int, device: str) -> launch.Batch:
    """Make a call over a shuffled block table; queries are as large as a rotation makes normal ones."""
    per_sequence = -(-size.context // BLOCK_SIZE)
    cache = make_cache(geometry, size.sequences * per_sequence, seed, device)
    generator = torch.Generator(device=device).manual_seed(seed + 1)
    table = torch.randperm(size.sequences * per_sequence, device=device, generator=generator)
    tokens = size.sequences * size.query_len
    shape = (tokens, geometry.query_heads, geometry.head_size)
    norm = math.sqrt(geometry.head_size)
    return launch.Batch(
        queries=(torch.randn(shape, device=device, generator=generator) * norm).half(),
        cache=cache_views(cache),
        block_table=table.int().view(size.sequences, per_sequence),
        seq_lens=torch.full([size.sequences], size.context, dtype=torch.int32, device=device),
        query_starts=torch.arange(0, tokens + 1, size.query_len, dtype=torch.int32, device=device),
        max_query_len=size.query_len,
        score_scale=1 / (norm * geometry.head_size**0.5),
    )


def with_cache(batch: launch.Batch, geometry: Geometry, seed: int) -> launch.Batch:
    """Give the call another cache of the same size."""
    device = str(batch.queries.device)
    return replace(batch, cache=cache_views(make_cache(geometry, batch.cache.words.shape[0], seed, device)))


def segments_of(geometry: Geometry, size: Size) -> int:
    """Choose the segments as an engine does on this device."""
    properties = torch.cuda.get_device_properties(0)
    layer = plan.Layer(
        kv_heads=geometry.kv_heads,
        query_heads=geometry.query_heads,
        head_size=geometry.head_size,
        processors=properties.multi_processor_count,
        capability=(properties.major, properties.minor),
    )
    rows = size.sequences * size.query_len
    return plan.segments(layer, size.sequences, size.query_len, rows, size.context)


def make_scratch(batch: launch.Batch, segments: int) -> launch.Scratch:
    """Make a scratch that is full of NaN."""
    shape = (batch.cache.kv_heads, batch.queries.shape[0], batch.group, segments)
    device = batch.queries.device
    return launch.Scratch(
        partials=torch.full((*shape, tuning.padded(batch.cache.head_size)), torch.nan, device=device),
        maxima=torch.full(shape, torch.nan, device=device),
        exp_sums=torch.full(shape, torch.nan, device=device),
    )
