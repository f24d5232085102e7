"""Add a layer's output to the residual stream, and normalize the sum for the next products."""

import triton
import triton.language as tl

from guardrail.kernels.programmatic_launch.device import begin
from guardrail.kernels.reference_decode.q8 import store_groups


@triton.jit
def add_norm(
    residual_ptr,
    delta_ptr,
    weight_ptr,
    normed_ptr,
    columns,
    epsilon,
    BLOCK: tl.constexpr,
    QUANTIZE: tl.constexpr,
    PDL: tl.constexpr,
):
    """Compute one token's ``x = x + delta`` and ``x / sqrt(mean(x**2) + epsilon) * weight``; grid (tokens,).

    Shapes and units:
        residual_ptr: fp32 [tokens, columns], updated.
        delta_ptr: fp32 [tokens, columns]; None to add nothing.
        weight_ptr: fp32 [columns].
        normed_ptr: q8 groups, uint8 [tokens, columns / 32, 40], or fp32 [tokens, columns].
        columns: A multiple of 32.
        epsilon: Added to the mean square.
        BLOCK: columns, padded to a power of two.
        QUANTIZE: Whether the result is written as q8 groups.
        PDL: Whether the kernel is launched programmatically.
    """
    token = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    at = token * columns + column
    weight = tl.load(weight_ptr + column, mask=inside, other=0.0)
    begin(PDL)
    x = tl.load(residual_ptr + at, mask=inside, other=0.0)
    if delta_ptr is not None:
        x += tl.load(delta_ptr + at, mask=inside, other=0.0)
        tl.store(residual_ptr + at, x, mask=inside)
    inverse_root = 1.0 / tl.sqrt(tl.sum(x * x, 0) / columns + epsilon)
    normed = x * inverse_root * weight
    if QUANTIZE:
        store_groups(normed_ptr + token * (columns // 32) * 40, normed, 0, columns // 32)
    else:
        tl.store(normed_ptr + at, normed, mask=inside)
