"""Add a layer's output to the residual stream, and normalize the sum for the next products."""

import triton
import triton.language as tl

from guardrail.kernels.kquants.q8_groups import store_multiplied_groups
from guardrail.kernels.programmatic_launch.device import begin


@triton.jit
def add_norm(
    residual_ptr,
    delta_ptr,
    weight_ptr,
    summed_ptr,
    normed_ptr,
    columns,
    epsilon,
    BLOCK: tl.constexpr,
    PART: tl.constexpr,
    QUANTIZE: tl.constexpr,
    PDL: tl.constexpr,
):
    """Compute some columns of one token's ``x = x + delta`` and ``x / sqrt(mean(x**2) + epsilon) * weight``.

    The grid is (tokens, columns / PART rounded up). Each program sums the squares of the whole row in one and
    the same order, so that all parts of the row are divided by the same number.

    Shapes and units:
        residual_ptr: fp32 [tokens, columns].
        delta_ptr: fp32 [tokens, columns]; None to add nothing.
        weight_ptr: fp32 [columns].
        summed_ptr: fp32 [tokens, columns], written; not the residual, which other programs still read. None
            where nothing is added.
        normed_ptr: q8 groups of ``x * weight`` with their scales divided by the root, uint8 [tokens,
            columns / 32, 40], or fp32 [tokens, columns].
        columns: A multiple of 32.
        epsilon: Added to the mean square.
        BLOCK: columns, padded to a power of two.
        PART: Columns that one program writes, a power of two from 32 on.
        QUANTIZE: Whether the result is written as q8 groups.
        PDL: Whether the kernel is launched programmatically.
    """
    token = tl.program_id(0).to(tl.int64)
    own = tl.program_id(1) * PART + tl.arange(0, PART)
    is_own = own < columns
    weight = tl.load(weight_ptr + own, mask=is_own, other=0.0)
    begin(PDL)
    residual_ptr += token * columns
    column = tl.arange(0, BLOCK)
    inside = column < columns
    row = tl.load(residual_ptr + column, mask=inside, other=0.0)
    x = tl.load(residual_ptr + own, mask=is_own, other=0.0)
    if delta_ptr is not None:
        delta_ptr += token * columns
        row += tl.load(delta_ptr + column, mask=inside, other=0.0)
        x += tl.load(delta_ptr + own, mask=is_own, other=0.0)
        tl.store(summed_ptr + token * columns + own, x, mask=is_own)
    inverse_root = 1.0 / tl.sqrt(tl.sum(row * row, 0) / columns + epsilon)
    if QUANTIZE:
        row_groups = columns // 32
        normed_ptr += token * row_groups * 40
        first = tl.program_id(1) * (PART // 32)
        store_multiplied_groups(normed_ptr, x * weight, inverse_root, first, row_groups)
    else:
        tl.store(normed_ptr + token * columns + own, x * inverse_root * weight, mask=is_own)
