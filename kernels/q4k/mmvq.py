"""The looping q4_K arm: a program computes some rows, tile by tile, so it covers any row of whole units."""

import triton
import triton.language as tl

from guardrail.kernels.kquants.arithmetic import dot4, sum_lanes
from guardrail.kernels.kquants.geometry import GROUP_BYTES as _GROUP_BYTES
from guardrail.kernels.kquants.geometry import GROUP_VALUES_OFFSET as _GROUP_VALUES_OFFSET
from guardrail.kernels.q4k import geometry
from guardrail.kernels.q4k.scales import unpack_scale

BLOCK_BYTES = tl.constexpr(geometry.BLOCK_BYTES)
SCALES_OFFSET = tl.constexpr(geometry.SCALES_OFFSET)
NIBBLES_OFFSET = tl.constexpr(geometry.NIBBLES_OFFSET)
UNITS_PER_BLOCK = tl.constexpr(geometry.UNITS_PER_BLOCK)
GROUP_BYTES = tl.constexpr(_GROUP_BYTES)
GROUP_VALUES_OFFSET = tl.constexpr(_GROUP_VALUES_OFFSET)


@triton.jit
def load_unit(weights, activations, row, rows, unit, units):
    """Load one unit of several rows for each lane of a tile; what lies outside is read as zeros.

    Returns:
        Nibbles [R, U, 1, 8], eight a word, and activations [1, U, 2, 8], four a word; the two f16 factors in
        one word and the packed scales in three, [R, U] each; activation scales [1, U, 2].
    """
    inside_row = (unit < units)[None, :]
    inside = (row < rows)[:, None] & inside_row
    word = tl.arange(0, 8)[None, None, None, :]
    half = tl.arange(0, 2)

    row_blocks = tl.cdiv(units, UNITS_PER_BLOCK)
    block = row.to(tl.int64)[:, None] * row_blocks + (unit // UNITS_PER_BLOCK)[None, :]
    first = weights.to(tl.pointer_type(tl.int32)) + block * (BLOCK_BYTES // 4)
    nibbles = (first + NIBBLES_OFFSET // 4 + (unit % UNITS_PER_BLOCK * 8)[None, :])[:, :, None, None]
    nibble = tl.load(nibbles + word, mask=inside[:, :, None, None], other=0)
    factors = tl.load(first, mask=inside, other=0)
    scales = first + SCALES_OFFSET // 4
    early_scales = tl.load(scales, mask=inside, other=0)
    early_minimums = tl.load(scales + 1, mask=inside, other=0)
    late = tl.load(scales + 2, mask=inside, other=0)

    group = (unit * 2)[:, None] + half[None, :]
    words = (group * (GROUP_BYTES // 4) + GROUP_VALUES_OFFSET // 4)[None, :, :, None] + word
    value = tl.load(
        activations.to(tl.pointer_type(tl.int32)) + words, mask=inside_row[:, :, None, None], other=0
    )
    value_scales = activations.to(tl.pointer_type(tl.float16)) + (group * (GROUP_BYTES // 2))[None, :, :]
    value_scale = tl.load(value_scales, mask=inside_row[:, :, None], other=0.0)
    return nibble, value, factors, early_scales, early_minimums, late, value_scale


@triton.jit
def unit_product(loaded, unit, DP4A: tl.constexpr):
    """Multiply out what `load_unit` returned: [R, U] float32.

    Both integer sums of a sub-block stay below 2**24, so that their conversion to float32 is exact. The
    minimum's is that of the activations themselves, which are in registers anyway, not the stored one.
    """
    nibble, value, factors, early_scales, early_minimums, late, value_scale = loaded
    half = tl.arange(0, 2)[None, None, :]
    weight = (nibble >> (half * 4)[:, :, :, None]) & 0x0F0F0F0F
    weight, value = tl.broadcast(weight, value)
    ones = tl.full(value.shape, 0x01010101, tl.int32)
    dot = tl.sum(dot4(weight, value, DP4A), axis=3)
    total = tl.sum(dot4(ones, value, DP4A), axis=3)
    sub_block = (unit % UNITS_PER_BLOCK * 2)[None, :, None] + half
    scale, minimum = unpack_scale(
        early_scales[:, :, None], early_minimums[:, :, None], late[:, :, None], sub_block
    )
    value_factor = value_scale.to(tl.float32)
    scaled = tl.sum(value_factor * (scale * dot).to(tl.float32), axis=2)
    shifted = tl.sum(value_factor * (minimum * total).to(tl.float32), axis=2)
    factor = (factors & 0xFFFF).to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)
    minimum_factor = (factors >> 16).to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)
    return factor * scaled - minimum_factor * shifted


@triton.jit(do_not_specialize=["rows", "units"])
def mmvq_q4k(
    weights,
    activations,
    output,
    rows,
    units,
    ROWS: tl.constexpr,
    BLOCK_UNITS: tl.constexpr,
    DP4A: tl.constexpr,
):
    """Multiply q4_K rows with a q8 vector.

    Args:
        weights: [rows, ceil(units / 4), 144] bytes, 16-byte aligned.
        activations: [units * 2, 40] bytes.
        output: [rows] float32.
        rows: Matrix rows.
        units: 64-element units in a row; its last block may hold fewer than four.
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
