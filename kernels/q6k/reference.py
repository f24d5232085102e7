"""The product in float64, by dequantization; it shares nothing with the kernels."""

import torch

from guardrail.kernels.q6k import activations, blocks


def product(weight_blocks: torch.Tensor, activation_groups: torch.Tensor) -> torch.Tensor:
    """Multiply a dequantized matrix with a dequantized vector.

    Args:
        weight_blocks: [rows, blocks, 210 or 224] uint8 q6_K blocks.
        activation_groups: [blocks * 8, 40] uint8 q8 groups.

    Returns:
        [rows] float64.
    """
    return blocks.dequantize(weight_blocks) @ activations.dequantize(activation_groups)
