"""Executable cache writes."""

from collections.abc import Sequence

import torch

from guardrail.families.interface import Case
from guardrail.kernels.int4_attention import launch, reference
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache

KV_HEADS = 2
BLOCK_SIZE = 16
SKIPPED = 3
"""Tokens without a slot, beside those that fill the cache."""


def units(case: Case) -> int:
    """Count the rows of keys and values: one for each slot and head."""
    return int(case["blocks"]) * BLOCK_SIZE * KV_HEADS


class RandomWrite:
    """Fill every slot of a small cache in random order; some rows do not span zero, some are constant.

    Args:
        case: Axes ``blocks`` and ``head_size``.
        seed: Seed of the inputs.
        device: Where to compute.
    """

    scratch: Sequence[torch.Tensor] = ()

    def __init__(self, case: Case, seed: int, device: str) -> None:
        blocks, head_size = int(case["blocks"]), int(case["head_size"])
        generator = torch.Generator().manual_seed(seed)
        slots = torch.randperm(blocks * BLOCK_SIZE, generator=generator)
        shape = (slots.numel() + SKIPPED, KV_HEADS, head_size)
        offset = torch.tensor([0.0, 0.0, 6.0, -6.0]).repeat(shape[0])[: shape[0], None, None]
        key = torch.randn(shape, generator=generator) + offset
        value = torch.randn(shape, generator=generator) - offset
        key[0], value[1] = 0.0, 2.5
        self.key, self.value = key.half().to(device), value.half().to(device)
        self.slots = torch.cat([torch.full([SKIPPED], -1), slots]).roll(shape[0] // 2).to(device)
        self.cache = make_cache(blocks, KV_HEADS, BLOCK_SIZE, head_size, device)
        self.outputs = (self.cache,)

    def launch(self, arm: str) -> None:
        """Run the only arm."""
        if arm != "write":
            raise ValueError(f"arm {arm!r}: expected write")
        launch.run_write(self.key, self.value, self.slots, cache_views(self.cache))

    def reference(self) -> Sequence[torch.Tensor]:
        """Quantize the same rows in torch, byte for byte.

        On the CPU, whose divisions round correctly: torch's CUDA division by a number multiplies by its
        reciprocal.
        """
        expected = torch.zeros_like(self.cache, device="cpu")
        reference.write_cache(expected, self.key.cpu(), self.value.cpu(), self.slots.cpu())
        return (expected,)
