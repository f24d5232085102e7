"""The q6_K block format in torch: padding and dequantization.

Layout and formula: llama.cpp's ``block_q6_K``, ``w = d * scale * (q - 32)``, ``q`` of 4 low and 2 high bits.
"""

import torch

from guardrail.kernels.q6k import geometry


def unpack_weights(blocks: torch.Tensor) -> torch.Tensor:
    """Unpack the six-bit weights of q6_K blocks, bias subtracted.

    Args:
        blocks: [..., 210 or 224] uint8.

    Returns:
        [..., 256] int8 in -32..31.
    """
    low_bytes = blocks[..., geometry.QL_OFFSET : geometry.QH_OFFSET].unflatten(-1, (2, 1, 64))
    high_bytes = blocks[..., geometry.QH_OFFSET : geometry.SCALES_OFFSET].unflatten(-1, (2, 1, 32))
    nibble_shift = torch.tensor([0, 4], device=blocks.device).view(2, 1)
    pair_shift = torch.tensor([0, 2, 4, 6], device=blocks.device).view(4, 1)
    low = ((low_bytes >> nibble_shift) & 15).flatten(-2)
    high = ((high_bytes >> pair_shift) & 3).flatten(-2)
    return (low.to(torch.int8) + high.to(torch.int8) * 16 - geometry.WEIGHT_BIAS).flatten(-2)


def pack_weights(weights: torch.Tensor) -> torch.Tensor:
    """Pack six-bit weights into the quantized bytes of q6_K blocks; inverse of `unpack_weights`.

    Args:
        weights: [..., 256] integers in -32..31.

    Returns:
        [..., 192] uint8: the low bits, then the high bits.
    """
    biased = (weights + geometry.WEIGHT_BIAS).to(torch.uint8).unflatten(-1, (2, 128))
    nibbles = (biased & 15).unflatten(-1, (2, 64))
    low = nibbles[..., 0, :] | (nibbles[..., 1, :] << 4)
    quarters = (biased >> 4).unflatten(-1, (4, 32))
    high = quarters[..., 0, :]
    for group in (1, 2, 3):
        high = high | (quarters[..., group, :] << (2 * group))
    return torch.cat([low.flatten(-2), high.flatten(-2)], dim=-1)


def assemble(weights: torch.Tensor, scales: torch.Tensor, super_scale: torch.Tensor) -> torch.Tensor:
    """Put q6_K blocks together from their parts.

    Args:
        weights: [..., 256] integers in -32..31.
        scales: [..., 16] int8.
        super_scale: [...] float16.

    Returns:
        [..., 210] uint8.
    """
    super_scale_bytes = super_scale.unsqueeze(-1).contiguous().view(torch.uint8)
    return torch.cat(
        [pack_weights(weights), scales.contiguous().view(torch.uint8), super_scale_bytes], dim=-1
    )


def pad(blocks: torch.Tensor) -> torch.Tensor:
    """Widen q6_K blocks from 210 to 224 bytes; the 14 bytes behind are zero.

    Args:
        blocks: [..., 210] uint8.
    """
    width = geometry.PADDED_BLOCK_BYTES - geometry.RAW_BLOCK_BYTES
    return torch.nn.functional.pad(blocks, (0, width))


def dequantize(blocks: torch.Tensor) -> torch.Tensor:
    """Compute the weights that q6_K blocks stand for, exactly.

    Args:
        blocks: [rows, blocks, 210 or 224] uint8.

    Returns:
        [rows, blocks * 256] float64.
    """
    scale_bytes = blocks[..., geometry.SCALES_OFFSET : geometry.SUPER_SCALE_OFFSET]
    factor_bytes = blocks[..., geometry.SUPER_SCALE_OFFSET : geometry.RAW_BLOCK_BYTES]
    scales = scale_bytes.contiguous().view(torch.int8).double()
    factor = factor_bytes.contiguous().view(torch.float16).double()
    halves = (
        unpack_weights(blocks).double().unflatten(-1, (geometry.HALVES_PER_BLOCK, geometry.HALF_ELEMENTS))
    )
    return (halves * (scales * factor).unsqueeze(-1)).flatten(-3)
