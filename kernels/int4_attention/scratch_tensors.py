"""The scratch on a device, and the pool of this process."""

from collections.abc import Hashable
from dataclasses import dataclass

import torch

from guardrail.kernels.int4_attention.launch import Scratch
from guardrail.kernels.int4_attention.scratch import ScratchPool
from guardrail.kernels.int4_attention.scratch_plan import ScratchPlan


@dataclass(frozen=True, slots=True)
class ScratchTensors:
    """Buffers that every batch divides anew, into its own rows and segments."""

    partials: torch.Tensor
    """fp32, flat: slots x query heads x padded head size."""
    maxima: torch.Tensor
    """fp32, flat: slots x query heads."""
    exp_sums: torch.Tensor
    """Shaped as the maxima."""

    def view(self, kv_heads: int, group: int, head_size: int, rows: int, segments: int) -> Scratch:
        """Divide the buffers for one batch.

        Args:
            kv_heads: KV heads of the layer.
            group: Query heads that share one KV head.
            head_size: Head size of the layer, padded to a power of two.
            rows: Query tokens of the batch, padding included.
            segments: Segments of its sequences, at most `ScratchPlan.most_segments`.

        Raises:
            ValueError: The buffers are too small.
        """
        shape = (kv_heads, rows, group, segments)
        slots = kv_heads * rows * group * segments
        if slots > self.maxima.numel() or slots * head_size > self.partials.numel():
            raise ValueError(
                f"{rows} query tokens of {segments} segments do not fit: expected at most "
                f"{self.maxima.numel() // (kv_heads * group)} slots of a head size up to "
                f"{self.partials.numel() // self.maxima.numel()}"
            )
        return Scratch(
            self.partials[: slots * head_size].view(*shape, head_size),
            self.maxima[:slots].view(shape),
            self.exp_sums[:slots].view(shape),
        )


def allocate(plan: ScratchPlan, device: Hashable) -> ScratchTensors:
    """Allocate a planned set.

    Args:
        plan: The set.
        device: Name of the device, with its index.
    """
    heads = plan.slots * plan.geometry.query_heads
    partials, maxima, exp_sums = (
        torch.empty(count, dtype=torch.float32, device=str(device))
        for count in (heads * plan.geometry.head_size, heads, heads)
    )
    return ScratchTensors(partials, maxima, exp_sums)


POOL = ScratchPool(allocate)
