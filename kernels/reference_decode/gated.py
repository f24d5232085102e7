"""Multiply the activated gate with the up projection."""

import triton
import triton.language as tl

from guardrail.kernels.kquants.q8_groups import store_groups
from guardrail.kernels.programmatic_launch.device import begin


@triton.jit
def silu_product(
    gate_up_ptr,
    product_ptr,
    columns,
    PART: tl.constexpr,
    QUANTIZE: tl.constexpr,
    PDL: tl.constexpr,
):
    """Compute some columns of one token's ``silu(gate) * up``; grid (tokens, columns / PART rounded up).

    Shapes and units:
        gate_up_ptr: Gates, then ups, fp32 [tokens, 2 * columns].
        product_ptr: q8 groups, uint8 [tokens, columns / 32, 40], or fp32 [tokens, columns].
        columns: A multiple of 32.
        PART: Columns of one program, a power of two from 32 on.
        QUANTIZE: Whether the result is written as q8 groups.
        PDL: Whether the kernel is launched programmatically.
    """
    begin(PDL)
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * PART + tl.arange(0, PART)
    inside = column < columns
    gate = tl.load(gate_up_ptr + token * 2 * columns + column, mask=inside, other=0.0)
    up = tl.load(gate_up_ptr + token * 2 * columns + columns + column, mask=inside, other=0.0)
    product = gate / (1.0 + tl.exp(-gate)) * up
    if QUANTIZE:
        store_groups(
            product_ptr + token * (columns // 32) * 40,
            product,
            tl.program_id(1) * (PART // 32),
            columns // 32,
        )
    else:
        tl.store(product_ptr + token * columns + column, product, mask=inside)
