"""v2: a program computes some rows, looping over tiles of units, so it covers any row of whole blocks."""

import triton
import triton.language as tl

from guardrail.kernels.kquants.arithmetic import sum_lanes
from guardrail.kernels.q6k.unit import looped_sums


@triton.jit(do_not_specialize=["rows", "units"])
def mmvq_v2(
    weights,
    activations,
    output,
    rows,
    units,
    ROWS: tl.constexpr,
    BLOCK_UNITS: tl.constexpr,
    DP4A: tl.constexpr,
):
    """Multiply padded q6_K rows with a q8 vector.

    Args:
        weights: [rows, units / 8, 224] bytes, 16-byte aligned.
        activations: [units, 40] bytes.
        output: [rows] float32.
        rows: Matrix rows.
        units: 32-element units in a row, a multiple of 8.
        ROWS: Rows a program computes.
        BLOCK_UNITS: Units in a tile, a power of two.
        DP4A: Whether to use the dp4a instruction (sm_61 and later; not in the interpreter).
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = looped_sums(weights, activations, row, rows, units, BLOCK_UNITS, False, DP4A)
    tl.store(output + row, sum_lanes(total), mask=row < rows)
