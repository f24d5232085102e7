"""The arithmetic of one 32-element unit, shared by all v2 arms so that their bits are the same.

Everything inside a unit is integer: with two scales of 8 bits, each for 16 weights of 6 bits and 16
activations of 8 bits, its sum stays below 2**24. So its conversion to float32 is exact, and so is the
product of the two f16 factors. What is rounded is their one product, and then each addition.
"""

import triton
import triton.language as tl

from guardrail.kernels.kquants.arithmetic import dot4
from guardrail.kernels.kquants.geometry import GROUP_BYTES as _GROUP_BYTES
from guardrail.kernels.kquants.geometry import GROUP_VALUES_OFFSET as _GROUP_VALUES_OFFSET
from guardrail.kernels.q6k import geometry

QL_OFFSET = tl.constexpr(geometry.QL_OFFSET)
QH_OFFSET = tl.constexpr(geometry.QH_OFFSET)
SCALES_OFFSET = tl.constexpr(geometry.SCALES_OFFSET)
SUPER_SCALE_OFFSET = tl.constexpr(geometry.SUPER_SCALE_OFFSET)
RAW_BLOCK_BYTES = tl.constexpr(geometry.RAW_BLOCK_BYTES)
PADDED_BLOCK_BYTES = tl.constexpr(geometry.PADDED_BLOCK_BYTES)
PLANE_ALIGNMENT = tl.constexpr(geometry.PLANE_ALIGNMENT)
UNITS_PER_BLOCK = tl.constexpr(geometry.UNITS_PER_BLOCK)
GROUP_BYTES = tl.constexpr(_GROUP_BYTES)
GROUP_VALUES_OFFSET = tl.constexpr(_GROUP_VALUES_OFFSET)


@triton.jit
def part_offsets(row, unit, units, PLANE: tl.constexpr):
    """Find the block of each unit of several rows.

    Args:
        row: [R] row numbers.
        unit: [U] unit numbers.
        units: Units of a row.
        PLANE: Whether rows are dense split planes, not padded blocks.

    Returns:
        Bytes from the first weight to the block's low bits, high bits, scales and factor: [R, U] each.
    """
    row_blocks = units // UNITS_PER_BLOCK
    in_row = (unit // UNITS_PER_BLOCK)[None, :]
    if PLANE:
        aligned = (row_blocks * RAW_BLOCK_BYTES + PLANE_ALIGNMENT - 1) // PLANE_ALIGNMENT
        start = row.to(tl.int64)[:, None] * (aligned * PLANE_ALIGNMENT)
        low = start + QL_OFFSET * row_blocks + in_row * (QH_OFFSET - QL_OFFSET)
        high = start + QH_OFFSET * row_blocks + in_row * (SCALES_OFFSET - QH_OFFSET)
        scales = start + SCALES_OFFSET * row_blocks + in_row * (SUPER_SCALE_OFFSET - SCALES_OFFSET)
        factor = start + SUPER_SCALE_OFFSET * row_blocks + in_row * (RAW_BLOCK_BYTES - SUPER_SCALE_OFFSET)
    else:
        start = (row.to(tl.int64)[:, None] * row_blocks + in_row) * PADDED_BLOCK_BYTES
        low = start + QL_OFFSET
        high = start + QH_OFFSET
        scales = start + SCALES_OFFSET
        factor = start + SUPER_SCALE_OFFSET
    return low, high, scales, factor


@triton.jit
def load_unit(weights, activations, row, rows, unit, units, PLANE: tl.constexpr):
    """Load one unit of several rows for each lane of a tile.

    Args:
        weights: Padded q6_K blocks, or dense split planes, bytes.
        activations: q8 groups of 40 bytes.
        row: [R] row numbers; those from `rows` on are read as zeros.
        rows: Rows of the matrix.
        unit: [U] unit numbers; those from `units` on are read as zeros.
        units: Units of a row.
        PLANE: Whether rows are dense split planes, not padded blocks.

    Returns:
        Low and high bits [R, U, 2, 4] and activations [1, U, 2, 4], four of them a word; both scales in one
        word [R, U]; super-scale [R, U] and activation scale [1, U].
    """
    pair = unit % UNITS_PER_BLOCK
    chunk = pair // 4
    inside_row = (unit < units)[None, :]
    inside = (row < rows)[:, None] & inside_row
    half = tl.arange(0, 2)
    word = ((half * 4)[:, None] + tl.arange(0, 4)[None, :])[None, None, :, :]

    low_bytes, high_bytes, scale_bytes, factor_bytes = part_offsets(row, unit, units, PLANE)
    words = weights.to(tl.pointer_type(tl.uint32))
    low_words = low_bytes // 4 + (chunk * 16 + (unit % 2) * 8)[None, :]
    low = tl.load(words + (low_words[:, :, None, None] + word), mask=inside[:, :, None, None], other=0)
    high_words = high_bytes // 4 + (chunk * 8)[None, :]
    high = tl.load(words + (high_words[:, :, None, None] + word), mask=inside[:, :, None, None], other=0)
    scales = weights.to(tl.pointer_type(tl.int16)) + (scale_bytes // 2 + pair[None, :])
    scale = tl.load(scales, mask=inside, other=0).to(tl.int32)
    factors = weights.to(tl.pointer_type(tl.float16)) + factor_bytes // 2
    super_scale = tl.load(factors, mask=inside, other=0.0)

    group_words = (unit * (GROUP_BYTES // 4) + GROUP_VALUES_OFFSET // 4)[None, :, None, None] + word
    values = activations.to(tl.pointer_type(tl.int32)) + group_words
    value = tl.load(values, mask=inside_row[:, :, None, None], other=0)
    activation_scales = activations.to(tl.pointer_type(tl.float16)) + (unit * (GROUP_BYTES // 2))[None, :]
    activation_scale = tl.load(activation_scales, mask=inside_row, other=0.0)
    return low, high, value, scale, super_scale, activation_scale


@triton.jit
def unit_product(loaded, unit, DP4A: tl.constexpr):
    """Multiply out what `load_unit` returned: [R, U] float32, one rounding each."""
    low, high, value, scale, super_scale, activation_scale = loaded
    group = (unit % 4)[None, :, None, None]
    six_bits = ((low >> ((group // 2) * 4)) & 0x0F0F0F0F) | (((high >> (group * 2)) & 0x03030303) << 4)
    # Subtracts 32 from four bytes at once: adding 96 cannot carry into the next byte, and 96 - 128 is -32.
    signed_weights = ((six_bits + 0x60606060) ^ 0x80808080).to(tl.int32, bitcast=True)
    value, signed_weights = tl.broadcast(value, signed_weights)
    half_dot = tl.sum(dot4(signed_weights, value, DP4A), axis=3)
    half_scale = (scale[:, :, None] << (24 - 8 * tl.arange(0, 2))[None, None, :]) >> 24
    unit_dot = tl.sum(half_dot * half_scale, axis=2)
    return (super_scale.to(tl.float32) * activation_scale.to(tl.float32)) * unit_dot.to(tl.float32)


@triton.jit
def looped_sums(
    weights,
    activations,
    row,
    rows,
    units,
    BLOCK_UNITS: tl.constexpr,
    PLANE: tl.constexpr,
    DP4A: tl.constexpr,
):
    """Sum the units of several rows, tile by tile, each lane its own: [R, BLOCK_UNITS] float32."""
    lane = tl.arange(0, BLOCK_UNITS)
    total = tl.zeros((row.shape[0], BLOCK_UNITS), dtype=tl.float32)
    for start in range(0, units, BLOCK_UNITS):
        unit = start + lane
        loaded = load_unit(weights, activations, row, rows, unit, units, PLANE)
        total += unit_product(loaded, unit, DP4A)
    return total


@triton.jit
def pipelined_sums(
    weights,
    activations,
    row,
    rows,
    units,
    BLOCK_UNITS: tl.constexpr,
    UNITS_PER_LANE: tl.constexpr,
    PLANE: tl.constexpr,
    DP4A: tl.constexpr,
):
    """Sum the units of two tiles, both loaded before either is used: the bits of `looped_sums` there."""
    tl.static_assert(UNITS_PER_LANE == 2, "the pipelined sums are written for two units a lane")
    first = tl.arange(0, BLOCK_UNITS)
    second = first + BLOCK_UNITS
    first_loaded = load_unit(weights, activations, row, rows, first, units, PLANE)
    second_loaded = load_unit(weights, activations, row, rows, second, units, PLANE)
    total = tl.zeros((row.shape[0], BLOCK_UNITS), dtype=tl.float32)
    total += unit_product(first_loaded, first, DP4A)
    total += unit_product(second_loaded, second, DP4A)
    return total
