"""The paged KV caches of all layers, and where every sequence's tokens lie in them."""

from dataclasses import dataclass

import torch

from guardrail.kernels.int4_attention import launch, rotation
from guardrail.kernels.int4_attention.cache_layout import CacheViews, cache_views, make_cache
from guardrail.kernels.reference_decode.budget import BLOCK_SIZE
from guardrail.kernels.reference_decode.geometry import Geometry

_FILLED_AT_ONCE = 4096
_TABLE_SEED = 11


@dataclass(frozen=True, slots=True)
class KvCache:
    """One cache a layer; all are divided by the same block table."""

    layers: tuple[CacheViews, ...]
    block_table: torch.Tensor
    """int32 [sequences, blocks of a sequence], in no order."""
    signs: torch.Tensor
    """Signs of the rotation that keys and values are written with."""

    def slots(self, sequence: int, tokens: int) -> torch.Tensor:
        """List the slots of a sequence's first tokens, int64 [tokens]."""
        position = torch.arange(tokens, device=self.block_table.device)
        return self.block_table[sequence, position // BLOCK_SIZE].long() * BLOCK_SIZE + position % BLOCK_SIZE

    def fill(self, tokens: int, seed: int) -> None:
        """Write normally distributed keys and values to the first tokens of every sequence.

        Args:
            tokens: Tokens of each sequence.
            seed: Seed of what is written.
        """
        device = self.block_table.device
        generator = torch.Generator(device).manual_seed(seed)
        for views in self.layers:
            shape = (2, _FILLED_AT_ONCE, views.kv_heads, views.head_size)
            for sequence in range(len(self.block_table)):
                for slots in self.slots(sequence, tokens).split(_FILLED_AT_ONCE):
                    key, value = torch.randn(shape, dtype=torch.float16, device=device, generator=generator)
                    launch.run_write(key[: len(slots)], value[: len(slots)], slots, views, self.signs)

    def stored(self, layer: int, tokens: int) -> torch.Tensor:
        """Copy the cached bytes of every sequence's first tokens.

        Returns:
            uint8 [sequences, tokens, KV heads, row bytes], on the CPU.
        """
        rows = self.layers[layer].words.view(torch.uint8).transpose(1, 2).flatten(0, 1)
        return torch.stack([rows[self.slots(each, tokens)] for each in range(len(self.block_table))]).cpu()


def allocate_cache(geometry: Geometry, sequences: int, context: int, device: str) -> KvCache:
    """Allocate what the sequences may use.

    Args:
        geometry: The model.
        sequences: How many.
        context: Tokens that each may hold.
        device: Where.
    """
    blocks = -(-context // BLOCK_SIZE)
    # Blocks of one sequence are not neighbours, as in an engine that has run for a while.
    order = torch.randperm(sequences * blocks, generator=torch.Generator().manual_seed(_TABLE_SEED))
    caches = (
        make_cache(sequences * blocks, geometry.kv_heads, BLOCK_SIZE, geometry.head_size, device)
        for _ in range(geometry.layers)
    )
    return KvCache(
        layers=tuple(cache_views(cache) for cache in caches),
        block_table=order.to(torch.int32).view(sequences, blocks).to(device),
        signs=rotation.signs(geometry.head_size, device),
    )
