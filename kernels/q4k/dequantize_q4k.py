"""Dequantization of q4_K blocks on the device."""

import triton
import triton.language as tl

from guardrail.kernels.kquants import geometry as kquants
from guardrail.kernels.q4k import geometry
from guardrail.kernels.q4k.scales import unpack_scale

BLOCK_ELEMENTS = tl.constexpr(kquants.BLOCK_ELEMENTS)
BLOCK_BYTES = tl.constexpr(geometry.BLOCK_BYTES)
NIBBLES_OFFSET = tl.constexpr(geometry.NIBBLES_OFFSET)
SCALES_OFFSET = tl.constexpr(geometry.SCALES_OFFSET)
SUB_BLOCK_ELEMENTS = tl.constexpr(geometry.SUB_BLOCK_ELEMENTS)


@triton.jit(do_not_specialize=["blocks"])
def dequantize_q4k(weights, output, blocks, BLOCKS: tl.constexpr):
    """Compute the weights of q4_K blocks: two exact products, and their difference rounded to float32.

    Args:
        weights: [blocks, 144] bytes, 4-byte aligned.
        output: [blocks, 256] float32, written.
        blocks: Blocks of the matrix.
        BLOCKS: Blocks that a program dequantizes, a power of two.
    """
    number = tl.program_id(0).to(tl.int64) * BLOCKS + tl.arange(0, BLOCKS)
    inside = (number < blocks)[:, None]
    block = (weights + number * BLOCK_BYTES)[:, None]
    element = tl.arange(0, BLOCK_ELEMENTS)[None, :]
    sub_block = element // SUB_BLOCK_ELEMENTS
    nibbles = block + NIBBLES_OFFSET + sub_block // 2 * SUB_BLOCK_ELEMENTS + element % SUB_BLOCK_ELEMENTS
    weight = (tl.load(nibbles, mask=inside, other=0).to(tl.int32) >> (sub_block % 2 * 4)) & 15
    words = (block + SCALES_OFFSET).to(tl.pointer_type(tl.int32), bitcast=True)
    first, second = tl.load(words, mask=inside, other=0), tl.load(words + 1, mask=inside, other=0)
    scale, minimum = unpack_scale(first, second, tl.load(words + 2, mask=inside, other=0), sub_block)
    factors = block.to(tl.pointer_type(tl.float16), bitcast=True)
    factor = tl.load(factors, mask=inside, other=0.0).to(tl.float32)
    minimum_factor = tl.load(factors + 1, mask=inside, other=0.0).to(tl.float32)
    value = factor * (scale * weight).to(tl.float32) - minimum_factor * minimum.to(tl.float32)
    tl.store(output + number[:, None] * BLOCK_ELEMENTS + element, value, mask=inside)
