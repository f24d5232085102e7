"""v2: a program computes some rows, looping over tiles of units, so it covers any row length."""

import triton
import triton.language as tl

from guardrail.kernels.q6k.unit import load_unit, sum_lanes, unit_product


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
    lane = tl.arange(0, BLOCK_UNITS)
    total = tl.zeros((ROWS, BLOCK_UNITS), dtype=tl.float32)
    for start in range(0, units, BLOCK_UNITS):
        unit = start + lane
        loaded = load_unit(weights, activations, row, rows, unit, units)
        total += unit_product(loaded, unit, DP4A)
    tl.store(output + row, sum_lanes(total), mask=row < rows)
