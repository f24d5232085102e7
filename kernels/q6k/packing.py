"""Quantization of float weights to q6_K blocks."""

import torch

from guardrail.kernels.q6k import geometry
from guardrail.kernels.q6k.blocks import assemble

_LARGEST_WEIGHT = 31
_LARGEST_SCALE = 127


def pack(weights: torch.Tensor) -> torch.Tensor:
    """Quantize a matrix to q6_K by rounding to nearest under the largest magnitude of each half.

    A block whose common factor underflows float16 becomes zero.

    Args:
        weights: [rows, columns] float, columns a multiple of 256.

    Returns:
        [rows, columns / 256, 210] uint8.

    Raises:
        ValueError: The columns are not a multiple of 256.
    """
    columns = weights.shape[-1]
    if columns % geometry.BLOCK_ELEMENTS:
        raise ValueError(
            f"{columns} columns: q6_K rows are whole blocks of {geometry.BLOCK_ELEMENTS} elements"
        )
    shape = (-1, geometry.HALVES_PER_BLOCK, geometry.HALF_ELEMENTS)
    halves = weights.float().unflatten(-1, shape)
    wanted = halves.abs().amax(dim=-1) / _LARGEST_WEIGHT
    super_scale = (wanted.amax(dim=-1) / _LARGEST_SCALE).to(torch.float16)
    factor = super_scale.float().unsqueeze(-1)
    scales = torch.where(factor > 0, wanted / factor, 0).round().clamp(0, _LARGEST_SCALE)
    step = (scales * factor).unsqueeze(-1)
    quantized = torch.where(step > 0, halves / step, 0).round().clamp(-geometry.WEIGHT_BIAS, _LARGEST_WEIGHT)
    return assemble(quantized.to(torch.int8).flatten(-2), scales.to(torch.int8), super_scale)
