"""Executable attention cases, on random inputs and on inputs that show which keys were computed."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from guardrail.families.interface import Case
from guardrail.kernels.int4_attention import gate, launch, plan, reference, tuning
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache

KV_HEADS = 2
GROUP = 3
HEAD_SIZE = 64
BLOCK_SIZE = 16
SEGMENTS = 4
TILE = 32
"""Keys of one step: small, so that small cases have several segments on any device."""
_HIGHEST_LEVEL = 15


class AttentionTrial:
    """One attention call over a shuffled cache, with its output and scratch.

    Args:
        case: Axes ``query_len``, ``sequences``, ``kv_heads`` and ``captured`` as the gate has them;
            ``context`` and ``head_size`` where they differ from the usual.
        seed: Seed of the block table.
        device: Where to compute.
        queries: [tokens, query heads, head size].
        keys: [sequences * keys of a sequence, KV heads, head size].
        values: Shaped as `keys`.
    """

    def __init__(
        self,
        case: Case,
        seed: int,
        device: str,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> None:
        sequences, query_len, seq_len = int(case["sequences"]), int(case["query_len"]), gate.units(case)
        head_size = queries.shape[2]
        per_sequence = -(-seq_len // BLOCK_SIZE)
        generator = torch.Generator().manual_seed(seed)
        table = torch.randperm(sequences * per_sequence, generator=generator).view(sequences, per_sequence)
        position = torch.arange(seq_len)
        slots = table[:, position // BLOCK_SIZE] * BLOCK_SIZE + position % BLOCK_SIZE
        cache = make_cache(sequences * per_sequence, KV_HEADS, BLOCK_SIZE, head_size)
        reference.write_cache(cache, keys, values, slots.flatten())

        tokens, rows = sequences * query_len, gate.padded_tokens(case)
        padded = torch.zeros(rows, *queries.shape[1:], dtype=torch.float16)
        padded[:tokens] = queries
        self.sequences, self.query_len, self.seq_len = sequences, query_len, seq_len
        self.batch = launch.Batch(
            queries=padded.to(device),
            cache=cache_views(cache.to(device)),
            block_table=table.int().to(device),
            seq_lens=torch.full([sequences], seq_len, dtype=torch.int32, device=device),
            query_starts=torch.arange(0, tokens + 1, query_len, dtype=torch.int32, device=device),
            max_query_len=query_len,
            score_scale=head_size**-0.5,
        )
        self.output = torch.empty_like(self.batch.queries)
        self.shape = replace(self.batch.shape(), tile=TILE)
        partials = (KV_HEADS, plan.capacity(gate.engine_of(case)), GROUP, SEGMENTS)
        self.partial_results = launch.Scratch(
            partials=torch.empty(*partials, tuning.padded(head_size), device=device),
            maxima=torch.empty(partials, device=device),
            exp_sums=torch.empty(partials, device=device),
        )
        self.outputs = (self.output[:tokens],)
        self.scratch = (
            self.partial_results.partials,
            self.partial_results.maxima,
            self.partial_results.exp_sums,
        )

    def launch(self, arm: str) -> None:
        """Run one arm."""
        if arm == "2d":
            launch.run_2d(self.batch, self.output, self.shape)
        elif arm == "3d":
            launch.run_3d(self.batch, self.output, self.partial_results, self.shape)
        else:
            raise ValueError(f"arm {arm!r}: expected 2d or 3d")


class RandomAttention(AttentionTrial):
    """Normal queries, keys and values; ``mean_score`` moves every score of a case.

    The first dimension of every key is its lowest, that of every query as large as the mean asks for.
    """

    def __init__(self, case: Case, seed: int, device: str) -> None:
        generator = torch.Generator().manual_seed(seed)
        head_size = int(case.get("head_size", HEAD_SIZE))
        tokens = int(case["sequences"]) * int(case["query_len"])
        keys = int(case["sequences"]) * gate.units(case)
        query = torch.randn(tokens, KV_HEADS * GROUP, head_size, generator=generator)
        key = torch.randn(keys, KV_HEADS, head_size, generator=generator)
        value = torch.randn(keys, KV_HEADS, head_size, generator=generator)
        if mean_score := float(case.get("mean_score", 0)):
            key[..., 0] = -4.0
            query[..., 0] = mean_score / -4.0 * head_size**0.5
        super().__init__(case, seed, device, query, key, value)

    def reference(self) -> Sequence[torch.Tensor]:
        """Compute the outputs in float64 from the cached bytes."""
        batch = self.batch
        attended = reference.attention(
            batch.queries,
            batch.cache,
            batch.block_table,
            [self.query_len] * self.sequences,
            [self.seq_len] * self.sequences,
            batch.score_scale,
        )
        return (attended,)


class ExposingAttention(AttentionTrial):
    """Equal scores, and values that give every key of a sequence an output dimension of its own.

    Raises:
        ValueError: The case has more keys than a head has dimensions.
    """

    def __init__(self, case: Case, device: str) -> None:
        head_size = int(case.get("head_size", HEAD_SIZE))
        seq_len = gate.units(case)
        if seq_len > head_size:
            raise ValueError(
                f"{seq_len} keys: expected at most head_size={head_size}, one dimension for each"
            )
        generator = torch.Generator().manual_seed(0)
        query = torch.zeros(int(case["sequences"]) * int(case["query_len"]), KV_HEADS * GROUP, head_size)
        key = torch.randn(int(case["sequences"]) * seq_len, KV_HEADS, head_size, generator=generator)
        one_hot = _HIGHEST_LEVEL * torch.eye(seq_len, head_size)
        value = one_hot.repeat(int(case["sequences"]), 1)[:, None].expand(-1, KV_HEADS, -1)
        super().__init__(case, 0, device, query, key, value)

    def unit_counts(self) -> Sequence[Sequence[int]]:
        """Count each visible key, for each token and head.

        The softmax divides by the number of keys it met, so the smallest share stands for one count.
        """
        shares = self.outputs[0].double().cpu().nan_to_num(0.0, 0.0, 0.0)
        noise = _HIGHEST_LEVEL / (8 * self.seq_len)
        shares = shares.where(shares > noise, 0.0)
        single = shares.where(shares > 0, torch.inf).amin(-1, keepdim=True)
        counts = torch.round(shares / single).long()
        first_visible = self.seq_len - self.query_len + 1
        return [
            row[: first_visible + token % self.query_len].tolist()
            for token, heads in enumerate(counts)
            for row in heads
        ]
