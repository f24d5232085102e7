"""Attention calls of a served model's size, on a random cache made where it is used."""

import math
from collections.abc import Sequence

import torch

from guardrail.families.interface import Case
from guardrail.kernels.int4_attention import launch, plan, reference, tuning
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache

_BLOCK_SIZE = 16
_INTERPRETED_PROCESSORS = 4
"""Multiprocessors that the segments are chosen for where kernels are interpreted."""


def units(case: Case) -> int:
    """Count the keys of each sequence, those of its query tokens included."""
    return int(case["context"])


class ServedAttention:
    """Sequences of one length over a shuffled cache of random levels, scales and zero points.

    Args:
        case: Axes ``query_heads``, ``kv_heads``, ``head_size``, ``sequences``, ``query_len`` and ``context``.
        seed: Seed of the inputs.
        device: Where to compute.
        more: Part of a sequence that one more sequence is long, of which nothing is looked at.
    """

    def __init__(self, case: Case, seed: int, device: str, more: float = 0.0) -> None:
        self._sequences, self._query_len = int(case["sequences"]), int(case["query_len"])
        query_heads, kv_heads = int(case["query_heads"]), int(case["kv_heads"])
        head_size, context = int(case["head_size"]), int(case["context"])
        generator = torch.Generator(device=device).manual_seed(seed)
        lengths = [context] * self._sequences + [round(context * more)] * bool(more)
        blocks = -(-context // _BLOCK_SIZE)
        table = torch.randperm(len(lengths) * blocks, generator=generator, device=device)
        tokens = len(lengths) * self._query_len
        norm = math.sqrt(head_size)
        queries = torch.randn(tokens, query_heads, head_size, generator=generator, device=device) * norm
        self.batch = launch.Batch(
            queries=queries.half(),
            cache=cache_views(_random_cache(len(lengths) * blocks, kv_heads, head_size, generator, device)),
            block_table=table.int().view(len(lengths), blocks),
            seq_lens=torch.tensor(lengths, dtype=torch.int32, device=device),
            query_starts=torch.arange(0, tokens + 1, self._query_len, dtype=torch.int32, device=device),
            max_query_len=self._query_len,
            # Keys are as large as a rotation makes them, and so are the queries.
            score_scale=1 / (norm * math.sqrt(head_size)),
        )
        segments = _segments(query_heads, kv_heads, head_size, self._sequences, self._query_len, context)
        shape = (kv_heads, tokens, query_heads // kv_heads, segments)
        self.partial_results = launch.Scratch(
            partials=torch.empty(*shape, tuning.padded(head_size), device=device),
            maxima=torch.empty(shape, device=device),
            exp_sums=torch.empty(shape, device=device),
        )
        self._output = torch.empty_like(self.batch.queries)
        self.outputs = (self._output[: self._sequences * self._query_len],)
        self.scratch = (
            self.partial_results.partials,
            self.partial_results.maxima,
            self.partial_results.exp_sums,
        )

    def launch(self, arm: str) -> None:
        """Run one arm."""
        if arm == "3d":
            launch.run_3d(self.batch, self._output, self.partial_results)
        elif arm == "2d":
            launch.run_2d(self.batch, self._output)
        else:
            raise ValueError(f"arm {arm!r}: expected 2d or 3d")

    def reference(self) -> Sequence[torch.Tensor]:
        """Compute the outputs in float64 from the cached bytes."""
        batch = self.batch
        lengths = batch.seq_lens.tolist()[: self._sequences]
        query_lens = [self._query_len] * self._sequences
        table = batch.block_table
        return (
            reference.attention(batch.queries, batch.cache, table, query_lens, lengths, batch.score_scale),
        )


class SlowerServedAttention(ServedAttention):
    """The twin that does 5% more work: another sequence, of 5% of a sequence's keys for each."""

    def __init__(self, case: Case, seed: int, device: str) -> None:
        super().__init__(case, seed, device, more=0.05 * int(case["sequences"]))


def _segments(
    query_heads: int, kv_heads: int, head_size: int, sequences: int, query_len: int, context: int
) -> int:
    """Choose the segments as an engine does on this device."""
    on_gpu = torch.cuda.is_available()
    properties = torch.cuda.get_device_properties(0) if on_gpu else None
    layer = plan.Layer(
        kv_heads=kv_heads,
        query_heads=query_heads,
        head_size=head_size,
        processors=properties.multi_processor_count if properties else _INTERPRETED_PROCESSORS,
        capability=(properties.major, properties.minor) if properties else tuning.HOPPER,
    )
    return plan.segments(layer, sequences, query_len, sequences * query_len, context)


def _random_cache(
    blocks: int, kv_heads: int, head_size: int, generator: torch.Generator, device: str
) -> torch.Tensor:
    """Fill a cache with random levels, scales from 0.05 to 0.15 and zero points from 4 to 11."""
    cache = make_cache(blocks, kv_heads, _BLOCK_SIZE, head_size, device)
    cache.random_(0, 256, generator=generator)
    views = cache_views(cache)
    for scales in (views.key_scales, views.value_scales):
        bits = (torch.rand(scales.shape, device=device, generator=generator) * 0.1 + 0.05).view(torch.int32)
        zero_points = torch.randint(4, 12, bits.shape, device=device, generator=generator, dtype=torch.int32)
        scales.copy_(((bits & -16) | zero_points).view(torch.float32))
    return cache
