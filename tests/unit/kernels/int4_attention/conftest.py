from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
import torch

from guardrail.kernels.int4_attention import launch, reference, tuning
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TILE = 32


@dataclass
class Ragged:
    """A ragged batch over a shuffled cache, poisoned outputs, and what they must become."""

    query_lens: list[int]
    seq_lens: list[int]
    kv_heads: int = 1
    group: int = 3
    head_size: int = 64
    block_size: int = 16
    padding: int = 0
    mean_score: float = 0.0
    window: int = 0
    softcap: float = 0.0
    sinks: bool = False
    head_major: bool = True
    batch: launch.Batch = field(init=False)

    def __post_init__(self) -> None:
        generator = torch.Generator().manual_seed(7)
        needed = [max(1, -(-length // self.block_size)) for length in self.seq_lens]
        blocks = torch.randperm(sum(needed) + 2, generator=generator).int()
        table = torch.full((len(needed), max(needed)), -1, dtype=torch.int32)
        for sequence, count in enumerate(needed):
            first = sum(needed[:sequence])
            table[sequence, :count] = blocks[first : first + count]
        if self.head_major:
            cache = make_cache(sum(needed) + 2, self.kv_heads, self.block_size, self.head_size)
        else:
            shape = (sum(needed) + 2, self.block_size, self.kv_heads, self.head_size + 8)
            cache = torch.zeros(shape, dtype=torch.uint8).transpose(1, 2)
        for sequence, length in enumerate(self.seq_lens):
            position = torch.arange(length)
            slots = table[sequence].long()[position // self.block_size] * self.block_size
            key, value = torch.randn(2, length, self.kv_heads, self.head_size, generator=generator)
            if self.mean_score:
                key[..., 0] = -4.0
            reference.write_cache(cache, key, value, slots + position % self.block_size)
        tokens = sum(self.query_lens)
        queries = torch.randn(
            tokens + self.padding, self.kv_heads * self.group, self.head_size, generator=generator
        )
        if self.mean_score:
            queries[..., 0] = self.mean_score / -4.0 * self.head_size**0.5
        starts = torch.tensor([0, *self.query_lens]).cumsum(0).int()
        self.tokens = tokens
        self.batch = launch.Batch(
            queries=queries.half().to(DEVICE),
            cache=cache_views(cache.to(DEVICE)),
            block_table=table.to(DEVICE),
            seq_lens=torch.tensor(self.seq_lens, dtype=torch.int32, device=DEVICE),
            query_starts=starts.to(DEVICE),
            max_query_len=max(self.query_lens),
            score_scale=self.head_size**-0.5,
            window=self.window,
            softcap=self.softcap,
            sinks=torch.linspace(-3.0, 4.0, self.kv_heads * self.group, device=DEVICE)
            if self.sinks
            else None,
        )

    def scratch(self, segments: int) -> launch.Scratch:
        shape = (self.kv_heads, self.batch.queries.shape[0], self.group, segments)
        return launch.Scratch(
            partials=torch.full((*shape, tuning.padded(self.head_size)), torch.nan, device=DEVICE),
            maxima=torch.full(shape, torch.nan, device=DEVICE),
            exp_sums=torch.full(shape, torch.nan, device=DEVICE),
        )

    def run(self, arm: str, segments: int = 4) -> torch.Tensor:
        output = torch.full_like(self.batch.queries, torch.nan)
        shape = replace(self.batch.shape(), tile=TILE)
        if arm == "2d":
            launch.run_2d(self.batch, output, shape)
        else:
            launch.run_3d(self.batch, output, self.scratch(segments), shape)
        return output.double().cpu()

    def expected(self) -> torch.Tensor:
        batch = self.batch
        return reference.attention(
            batch.queries,
            batch.cache,
            batch.block_table,
            self.query_lens,
            self.seq_lens,
            batch.score_scale,
            self.window,
            self.softcap,
            batch.sinks,
        ).cpu()


@pytest.fixture
def ragged() -> Callable[..., Ragged]:
    return Ragged
