"""The q4_K block format in torch: assembly and dequantization.

Layout and formula: llama.cpp's ``block_q4_K``, ``w = d * scale * q - dmin * minimum``, with eight scales and
eight minimums of six bits in 12 bytes: the first four of each in the low six bits of bytes 0 to 7, the last
four in the nibbles of bytes 8 to 11 and, their upper two bits, on top of bytes 0 to 7.
"""

import torch

from guardrail.kernels.q4k import geometry


def unpack_weights(blocks: torch.Tensor) -> torch.Tensor:
    """Unpack the four-bit weights of q4_K blocks.

    Args:
        blocks: [..., 144] uint8.

    Returns:
        [..., 256] uint8 in 0..15.
    """
    nibbles = blocks[..., geometry.NIBBLES_OFFSET :].unflatten(-1, (geometry.UNITS_PER_BLOCK, 1, -1))
    shift = torch.tensor([0, 4], device=blocks.device).view(2, 1)
    return ((nibbles >> shift) & geometry.LARGEST_WEIGHT).to(torch.uint8).flatten(-3)


def unpack_scales(blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Unpack the six-bit scales and minimums of q4_K blocks.

    Args:
        blocks: [..., 144] uint8.

    Returns:
        [..., 8] uint8 each, in 0..63.
    """
    packed = blocks[..., geometry.SCALES_OFFSET : geometry.NIBBLES_OFFSET].unflatten(-1, (3, 4))
    first, second, nibbles = packed.unbind(dim=-2)
    scales = torch.cat([first & 63, (nibbles & 15) | ((first >> 6) << 4)], dim=-1)
    minimums = torch.cat([second & 63, (nibbles >> 4) | ((second >> 6) << 4)], dim=-1)
    return scales, minimums


def assemble(
    weights: torch.Tensor, scales: torch.Tensor, minimums: torch.Tensor, factors: torch.Tensor
) -> torch.Tensor:
    """Put q4_K blocks together from their parts.

    Args:
        weights: [..., 256] integers in 0..15.
        scales: [..., 8] integers in 0..63.
        minimums: [..., 8] integers in 0..63.
        factors: [..., 2] float16, of the scales and of the minimums.

    Returns:
        [..., 144] uint8.
    """
    low, high = weights.to(torch.uint8).unflatten(-1, (geometry.UNITS_PER_BLOCK, 2, -1)).unbind(dim=-2)
    nibbles = (low | (high << 4)).flatten(-2)
    (first, third), (second, fourth) = (
        part.to(torch.uint8).unflatten(-1, (2, 4)).unbind(dim=-2) for part in (scales, minimums)
    )
    packed = [first | ((third >> 4) << 6), second | ((fourth >> 4) << 6), (third & 15) | ((fourth & 15) << 4)]
    return torch.cat([factors.contiguous().view(torch.uint8), *packed, nibbles], dim=-1)


def dequantize(blocks: torch.Tensor) -> torch.Tensor:
    """Compute the weights that q4_K blocks stand for, exactly.

    Args:
        blocks: [rows, blocks, 144] uint8.

    Returns:
        [rows, blocks * 256] float64.
    """
    factors = blocks[..., geometry.FACTORS_OFFSET : geometry.SCALES_OFFSET].contiguous().view(torch.float16)
    factor, minimum_factor = factors.double().unsqueeze(-1).unbind(dim=-2)
    scales, minimums = unpack_scales(blocks)
    sub_blocks = unpack_weights(blocks).double().unflatten(-1, (geometry.SUB_BLOCKS, -1))
    scaled = sub_blocks * (factor * scales).unsqueeze(-1) - (minimum_factor * minimums).unsqueeze(-1)
    return scaled.flatten(-3)
