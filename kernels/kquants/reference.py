"""The product in float64, by dequantization; it shares nothing with the kernels."""

from collections.abc import Callable

import torch

from guardrail.kernels.kquants import activations
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS

_CHUNK_ELEMENTS = 1 << 24
"""Weights that are dequantized at a time, 128 MiB of float64, so that an output matrix fits."""


def product(
    dequantize: Callable[[torch.Tensor], torch.Tensor], blocks: torch.Tensor, groups: torch.Tensor
) -> torch.Tensor:
    """Multiply a dequantized matrix with dequantized vectors, some rows at a time.

    Args:
        dequantize: Computes the weights of blocks, [rows, blocks * 256] float64.
        blocks: [rows, blocks, bytes] uint8.
        groups: [..., groups, 40] uint8 q8 groups; the last block of a row may reach beyond them.

    Returns:
        [..., rows] float64.
    """
    vectors = activations.dequantize(groups)
    step = max(1, _CHUNK_ELEMENTS // (blocks.shape[1] * BLOCK_ELEMENTS))
    products = [
        vectors @ dequantize(blocks[first : first + step])[:, : vectors.shape[-1]].T
        for first in range(0, len(blocks), step)
    ]
    return torch.cat(products, dim=-1)
