"""Executable attention over a rotated cache, with queries and outputs that are not."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from guardrail.families.interface import Case
from guardrail.kernels.int4_attention import gate, reference, rotation
from guardrail.kernels.int4_attention.trials import GROUP, KV_HEADS, AttentionTrial


class RotatedAttention(AttentionTrial):
    """Normal queries, and a cache of rotated normal keys and values.

    Args:
        case: As in `AttentionTrial`; ``head_size`` must be given.
        seed: Seed of the inputs.
        device: Where to compute.
    """

    def __init__(self, case: Case, seed: int, device: str) -> None:
        generator = torch.Generator().manual_seed(seed)
        sequences, head_size = int(case["sequences"]), int(case["head_size"])
        tokens, keys = sequences * int(case["query_len"]), sequences * gate.units(case)
        query = torch.randn(tokens, KV_HEADS * GROUP, head_size, generator=generator)
        key, value = torch.randn(2, keys, KV_HEADS, head_size, generator=generator)
        super().__init__(case, seed, device, query, rotation.rotate(key), rotation.rotate(value))
        self.batch = replace(self.batch, signs=rotation.signs(head_size, device))

    def reference(self) -> Sequence[torch.Tensor]:
        """Compute the outputs in float64 from the cached bytes."""
        batch = self.batch
        attended = reference.attention(
            rotation.rotate(batch.queries),
            batch.cache,
            batch.block_table,
            [self.query_len] * self.sequences,
            [self.seq_len] * self.sequences,
            batch.score_scale / rotation.block_size(batch.cache.head_size),
        )
        return (rotation.rotate_back(attended),)
