"""v2 with one plain sum over all lanes, whose order follows the compiler's layout: a negative control."""

import triton
import triton.language as tl

from guardrail.kernels.q6k.unit import looped_sums


@triton.jit(do_not_specialize=["rows", "units"])
def mmvq_v2_plain_sum(
    weights,
    activations,
    output,
    rows,
    units,
    ROWS: tl.constexpr,
    BLOCK_UNITS: tl.constexpr,
    DP4A: tl.constexpr,
):
    """Multiply as `mmvq_v2` does, with its arguments, to bits that depend on the launch."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = looped_sums(weights, activations, row, rows, units, BLOCK_UNITS, False, DP4A)
    tl.store(output + row, tl.sum(total, axis=1), mask=row < rows)
