"""v2_pf_dpl: v2_pf on dense split planes, which hold no padding between blocks."""

import triton
import triton.language as tl

from guardrail.kernels.kquants.arithmetic import sum_lanes
from guardrail.kernels.q6k.unit import pipelined_sums


@triton.jit(do_not_specialize=["rows", "units"])
def mmvq_v2_pf_dpl(
    weights,
    activations,
    output,
    rows,
    units,
    ROWS: tl.constexpr,
    BLOCK_UNITS: tl.constexpr,
    UNITS_PER_LANE: tl.constexpr,
    DP4A: tl.constexpr,
):
    """Multiply dense q6_K rows of at most ``UNITS_PER_LANE * BLOCK_UNITS`` units with a q8 vector.

    Units beyond are left out, silently: the gate must not send longer rows here. Where it covers a row, its
    output equals that of `mmvq_v2_dpl` in every bit.

    Args:
        weights: [rows, bytes] dense split plane, rows of a multiple of 16 bytes, 16-byte aligned.
        activations: [units, 40] bytes.
        output: [rows] float32.
        rows: Matrix rows.
        units: 32-element units in a row, a multiple of 8.
        ROWS: Rows a program computes.
        BLOCK_UNITS: Units in a tile, a power of two.
        UNITS_PER_LANE: Tiles that the body is written for.
        DP4A: Whether to use the dp4a instruction (sm_61 and later; not in the interpreter).
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = pipelined_sums(weights, activations, row, rows, units, BLOCK_UNITS, UNITS_PER_LANE, True, DP4A)
    tl.store(output + row, sum_lanes(total), mask=row < rows)
