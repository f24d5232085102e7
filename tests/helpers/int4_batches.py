"""Ragged int4 attention calls at a model's sizes, and how far fp16 rounding alone moves their outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from guardrail.kernels.int4_attention import launch, reference, tuning
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache

DEVICE = "cuda:0" if torch.cuda.is_available() else "cpu"
BLOCK_SIZE = 16
LAUNCHES = {"2d": ["attend"], "3d": ["attend_segments", "reduce_segments"]}
ROUNDING = 3.0
"""Errors of the fp16 class that an arm may make: it rounds where the class does, in another order."""


@dataclass(frozen=True)
class Heads:
    """The geometry of an attention layer."""

    name: str
    kv_heads: int
    group: int
    head_size: int


TARGET = Heads("target", kv_heads=4, group=6, head_size=256)
DRAFTER = Heads("drafter", kv_heads=8, group=4, head_size=128)


class RandomBatch:
    """Random queries over a shuffled cache whose unused bytes are all set, and a poisoned output.

    Args:
        heads: Geometry.
        query_lens: Query tokens of each sequence.
        seq_lens: Keys of each sequence.
        seed: Seed of everything random.
        padding: Query rows behind the last sequence.
        table_blocks: Width of the block table; as wide as the longest sequence where None.
        mean_score: What every score is near to; 0 for scores around zero.
        cache: A cache to use instead of one that just holds the sequences.
        blocks: Blocks of `cache` to use, at least as many as are needed.
        **options: Further fields of `launch.Batch`.
    """

    def __init__(
        self,
        heads: Heads,
        query_lens: Sequence[int],
        seq_lens: Sequence[int],
        seed: int,
        padding: int = 0,
        table_blocks: int | None = None,
        mean_score: float = 0.0,
        cache: torch.Tensor | None = None,
        blocks: torch.Tensor | None = None,
        **options: Any,
    ) -> None:
        self.heads, self.seed = heads, seed
        self.query_lens, self.seq_lens = list(query_lens), list(seq_lens)
        self._generator = torch.Generator(DEVICE).manual_seed(seed)
        needed = [-(-length // BLOCK_SIZE) for length in seq_lens]
        if cache is None:
            cache = make_cache(sum(needed) + 3, heads.kv_heads, BLOCK_SIZE, heads.head_size, DEVICE)
            cache.fill_(0xFF)
        if blocks is None:
            blocks = torch.arange(cache.shape[0], device=DEVICE)
        blocks = blocks[torch.randperm(len(blocks), generator=self._generator, device=DEVICE)]
        table = torch.full((len(needed), table_blocks or max(*needed, 1)), -1, device=DEVICE)
        for sequence, count in enumerate(needed):
            table[sequence, :count], blocks = blocks[:count], blocks[count:]
        queries = self._random(sum(query_lens) + padding, heads.kv_heads * heads.group)
        if mean_score:
            # Keys of scale 1 and zero point 4 hold a first element of -4 exactly: scores differ little.
            queries *= 0.1
            queries[..., 0], queries[..., 1] = mean_score / -4.0 * heads.head_size**0.5, 0.0
        for sequence, length in enumerate(seq_lens):
            position = torch.arange(length, device=DEVICE)
            slots = table[sequence, position // BLOCK_SIZE] * BLOCK_SIZE + position % BLOCK_SIZE
            key, value = self._random(length, heads.kv_heads), self._random(length, heads.kv_heads)
            if mean_score:
                key = key.clamp(-4.0, 11.0)
                key[..., 0], key[..., 1] = -4.0, 11.0
            reference.write_cache(cache, key, value, slots)
        self.batch = launch.Batch(
            queries=queries.half(),
            cache=cache_views(cache),
            block_table=table.int(),
            seq_lens=torch.tensor(self.seq_lens, dtype=torch.int32, device=DEVICE),
            query_starts=torch.tensor([0, *self.query_lens], device=DEVICE).cumsum(0).int(),
            max_query_len=max(query_lens),
            score_scale=heads.head_size**-0.5,
            **options,
        )
        self.output = torch.full_like(self.batch.queries, torch.nan)

    @property
    def tokens(self) -> int:
        """Count the query tokens, without padding."""
        return sum(self.query_lens)

    def scratch(self, segments: int) -> launch.Scratch:
        """Make a poisoned scratch of exactly the batch's rows."""
        shape = (self.heads.kv_heads, self.batch.queries.shape[0], self.heads.group, segments)
        return launch.Scratch(
            partials=torch.full((*shape, tuning.padded(self.heads.head_size)), torch.nan, device=DEVICE),
            maxima=torch.full(shape, torch.nan, device=DEVICE),
            exp_sums=torch.full(shape, torch.nan, device=DEVICE),
        )

    def run(self, arm: str, segments: int = 5) -> None:
        """Launch one arm on poisoned memory."""
        self.output.fill_(torch.nan)
        if arm == "2d":
            launch.run_2d(self.batch, self.output)
        else:
            launch.run_3d(self.batch, self.output, self.scratch(segments))

    def expected(self) -> torch.Tensor:
        """Compute the outputs in float64 from the cached bytes."""
        batch = self.batch
        outputs: torch.Tensor = reference.attention(
            batch.queries,
            batch.cache,
            batch.block_table,
            self.query_lens,
            self.seq_lens,
            batch.score_scale,
            batch.window,
            batch.softcap,
            batch.sinks,
        )
        return outputs

    def rounded(self) -> torch.Tensor:
        """Compute the outputs in float64, with weights times value scales, and outputs, rounded to fp16."""
        return torch.cat([self._rounded(sequence) for sequence in range(len(self.seq_lens))]).half().double()

    def require_right(self) -> None:
        """Require the output to be as near to float64 as the fp16 class, and padding rows untouched."""
        expected, actual = self.expected(), self.output.double()
        seen = f"seed {self.seed}, queries {self.query_lens}, keys {self.seq_lens}, {self.heads.name}"
        assert torch.isnan(actual[self.tokens :]).all(), f"a padding row was written: {seen}"
        assert torch.isfinite(actual[: self.tokens]).all(), f"outputs are missing: {seen}"
        blind = (expected == 0).all(-1)
        assert (actual[: self.tokens][blind] == 0).all(), f"a token that sees no key is not 0: {seen}"
        if not blind.all():
            norm, largest = self.errors_in_classes(expected)
            assert norm < ROUNDING, f"error norm is {norm:.2f} of its class: {seen}"
            assert largest < ROUNDING, f"largest error is {largest:.2f} of its class: {seen}"

    def errors_in_classes(self, expected: torch.Tensor) -> tuple[float, float]:
        """Measure the norm and the largest element of the error, as multiples of what fp16 rounding makes."""
        rounding = self.rounded() - expected
        # 2**-11 for the weights, and again for the outputs: more is no rounding, and would excuse all.
        assert 0 < rounding.norm() < 2**-10 * expected.norm(), f"seed {self.seed}: no rounding class"
        error = self.output[: self.tokens].double() - expected
        return float(error.norm() / rounding.norm()), float(error.abs().max() / rounding.abs().max())

    def _random(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, self.heads.head_size, generator=self._generator, device=DEVICE)

    def _rounded(self, sequence: int) -> torch.Tensor:
        batch, seq_len, query_len = self.batch, self.seq_lens[sequence], self.query_lens[sequence]
        first = sum(self.query_lens[:sequence])
        slot = torch.arange(seq_len, device=DEVICE)
        rows = batch.cache.words[batch.block_table[sequence, slot // BLOCK_SIZE].long(), :, slot % BLOCK_SIZE]
        (key, key_scale), (value, value_scale) = (_levels(half) for half in rows.chunk(2, -1))
        query = batch.queries[first : first + query_len].double().unflatten(1, (self.heads.kv_heads, -1))
        score = torch.einsum("qhgd,khd->hgqk", query, key * key_scale) * batch.score_scale
        if batch.softcap:
            score = batch.softcap * (score / batch.softcap).tanh()
        age = torch.arange(seq_len - query_len, seq_len, device=DEVICE)[:, None] - slot
        hidden = (age < 0) | (age >= batch.window) if batch.window else age < 0
        score = score.masked_fill(hidden, -torch.inf)
        top = score.new_full((*score.shape[:-1], 1), -torch.inf)
        if seq_len:
            top = score.amax(-1, keepdim=True)
        top = top.nan_to_num(neginf=0.0)
        weight = (score - top).exp()
        total = weight.sum(-1, keepdim=True)
        if batch.sinks is not None:
            total = total + (batch.sinks.double().view(self.heads.kv_heads, -1, 1, 1) - top).exp()
        scaled = (weight * value_scale.squeeze(-1).T[:, None, None]).half().double()
        attended = torch.einsum("hgqk,khd->hgqd", scaled, value) / total.where(total > 0, 1.0)
        outputs: torch.Tensor = attended.permute(2, 0, 1, 3).flatten(1, 2)
        return outputs


def _levels(row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Read words of levels, the last of which is the scale: integers less the zero point, and the scale."""
    words, bits = row[..., :-1], row[..., -1:]
    shifts = torch.arange(0, 32, 4, device=row.device)
    levels = (words[..., None] >> shifts & 15).flatten(-2) - (bits & 15)
    return levels.double(), (bits & -16).view(torch.float32).double()
