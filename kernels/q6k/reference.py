"""The product in float64, by dequantization; it shares nothing with the kernels."""

import torch

from guardrail.kernels.kquants import reference
from guardrail.kernels.q6k import blocks


def product(weight_blocks: torch.Tensor, activation_groups: torch.Tensor) -> torch.Tensor:
    """Multiply a dequantized matrix with dequantized vectors.

    Args:
        weight_blocks: [rows, blocks, 210 or 224] uint8 q6_K blocks.
        activation_groups: [..., units, 40] uint8 q8 groups; the last block of a row may reach beyond them.

    Returns:
        [..., rows] float64.
    """
    return reference.product(blocks.dequantize, weight_blocks, activation_groups)
