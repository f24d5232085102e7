"""Dequantization of q6_K blocks on the device."""

import triton
import triton.language as tl

from guardrail.kernels.kquants import geometry as kquants
from guardrail.kernels.q6k import geometry
from guardrail.kernels.q6k.elements import load_scale, load_weight

BLOCK_ELEMENTS = tl.constexpr(kquants.BLOCK_ELEMENTS)
HALF_ELEMENTS = tl.constexpr(geometry.HALF_ELEMENTS)


@triton.jit(do_not_specialize=["blocks"])
def dequantize_q6k(weights, output, blocks, BLOCK_BYTES: tl.constexpr, BLOCKS: tl.constexpr):
    """Compute the weights that q6_K blocks stand for, each rounded once to float32.

    Args:
        weights: [blocks, BLOCK_BYTES] bytes.
        output: [blocks, 256] float32, written.
        blocks: Blocks of the matrix.
        BLOCK_BYTES: Bytes from one q6_K block to the next: 210 as files hold them, 224 padded.
        BLOCKS: Blocks that a program dequantizes, a power of two.
    """
    number = tl.program_id(0).to(tl.int64) * BLOCKS + tl.arange(0, BLOCKS)
    inside = (number < blocks)[:, None]
    block = (weights + number * BLOCK_BYTES)[:, None]
    position = tl.arange(0, BLOCK_ELEMENTS)[None, :]
    weight = load_weight(block, position, inside).to(tl.float32)
    scale = load_scale(block, position // HALF_ELEMENTS, inside)
    tl.store(output + number[:, None] * BLOCK_ELEMENTS + position, weight * scale, mask=inside)
