"""v2_dpl: v2 on dense split planes, which hold no padding between blocks."""

import triton
import triton.language as tl

from guardrail.kernels.kquants.arithmetic import sum_lanes
from guardrail.kernels.q6k.unit import looped_sums


@triton.jit(do_not_specialize=["rows", "units"])
def mmvq_v2_dpl(
    weights,
    activations,
    output,
    rows,
    units,
    ROWS: tl.constexpr,
    BLOCK_UNITS: tl.constexpr,
    DP4A: tl.constexpr,
):
    """Multiply q6_K rows of a dense split plane with a q8 vector, to the bits of `mmvq_v2`.

    Args:
        weights: [rows, bytes] dense split plane, rows of a multiple of 16 bytes, 16-byte aligned.
        activations: [units, 40] bytes.
        output: [rows] float32.
        rows: Matrix rows.
        units: 32-element units in a row, a multiple of 8.
        ROWS: Rows a program computes.
        BLOCK_UNITS: Units in a tile, a power of two.
        DP4A: Whether to use the dp4a instruction (sm_61 and later; not in the interpreter).
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = looped_sums(weights, activations, row, rows, units, BLOCK_UNITS, True, DP4A)
    tl.store(output + row, sum_lanes(total), mask=row < rows)
