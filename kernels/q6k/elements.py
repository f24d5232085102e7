"""Weights of q6_K blocks read element by element, in single bytes: raw or padded, aligned or not."""

import triton
import triton.language as tl

from guardrail.kernels.q6k import geometry

QH_OFFSET = tl.constexpr(geometry.QH_OFFSET)
SCALES_OFFSET = tl.constexpr(geometry.SCALES_OFFSET)
SUPER_SCALE_OFFSET = tl.constexpr(geometry.SUPER_SCALE_OFFSET)
HALF_ELEMENTS = tl.constexpr(geometry.HALF_ELEMENTS)
WEIGHT_BIAS = tl.constexpr(geometry.WEIGHT_BIAS)


@triton.jit
def load_weight(block, position, mask):
    """Load six-bit weights, bias subtracted.

    Args:
        block: First byte of each element's block.
        position: Number of each element within its block.
        mask: Elements to load; others are as if their bits were zero.

    Returns:
        int32 in -32..31.
    """
    chunk = position // 128
    column = position % 128
    low_byte = tl.load(block + chunk * 64 + column % 64, mask=mask, other=0).to(tl.int32)
    high_byte = tl.load(block + QH_OFFSET + chunk * 32 + column % 32, mask=mask, other=0).to(tl.int32)
    low = (low_byte >> ((column // 64) * 4)) & 15
    high = (high_byte >> ((column // 32) * 2)) & 3
    return low + high * 16 - WEIGHT_BIAS


@triton.jit
def load_scale(block, half, mask):
    """Load the scale of halves of blocks, float32, unrounded: 8 bits times 11.

    Args:
        block: First byte of each half's block.
        half: Number of each half within its block.
        mask: Halves to load; others are zero.
    """
    scales = (block + SCALES_OFFSET + half).to(tl.pointer_type(tl.int8), bitcast=True)
    scale = tl.load(scales, mask=mask, other=0).to(tl.float32)
    factors = (block + SUPER_SCALE_OFFSET).to(tl.pointer_type(tl.float16), bitcast=True)
    return scale * tl.load(factors, mask=mask, other=0.0).to(tl.float32)
