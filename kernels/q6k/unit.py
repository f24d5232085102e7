"""The arithmetic of one 32-element unit, shared by v2 and v2_pf so that their bits are the same.

Everything inside a unit is integer: with two scales of 8 bits, each for 16 weights of 6 bits and 16
activations of 8 bits, its sum stays below 2**24. So its conversion to float32 is exact, and so is the
product of the two f16 factors. What is rounded is their one product, and then each addition.
"""

import triton
import triton.language as tl

from guardrail.kernels.q6k import geometry

QL_OFFSET = tl.constexpr(geometry.QL_OFFSET)
QH_OFFSET = tl.constexpr(geometry.QH_OFFSET)
SCALES_OFFSET = tl.constexpr(geometry.SCALES_OFFSET)
SUPER_SCALE_OFFSET = tl.constexpr(geometry.SUPER_SCALE_OFFSET)
PADDED_BLOCK_BYTES = tl.constexpr(geometry.PADDED_BLOCK_BYTES)
UNITS_PER_BLOCK = tl.constexpr(geometry.UNITS_PER_BLOCK)
ACTIVATION_BYTES = tl.constexpr(geometry.ACTIVATION_BYTES)
ACTIVATION_VALUES_OFFSET = tl.constexpr(geometry.ACTIVATION_VALUES_OFFSET)


@triton.jit
def dot4(a, b, DP4A: tl.constexpr):
    """Multiply the four signed bytes of each word of `a` with those of `b` and add the products."""
    if DP4A:
        products = tl.inline_asm_elementwise(
            "dp4a.s32.s32 $0, $1, $2, 0;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1
        )
    else:
        products = (a >> 24) * (b >> 24)
        products += ((a << 8) >> 24) * ((b << 8) >> 24)
        products += ((a << 16) >> 24) * ((b << 16) >> 24)
        products += ((a << 24) >> 24) * ((b << 24) >> 24)
    return products


@triton.jit
def load_unit(weights, activations, row, rows, unit, units):
    """Load one unit of several rows for each lane of a tile.

    Args:
        weights: Padded q6_K blocks, bytes.
        activations: q8 groups of 40 bytes.
        row: [R] row numbers; those from `rows` on are read as zeros.
        rows: Rows of the matrix.
        unit: [U] unit numbers; those from `units` on are read as zeros.
        units: Units of a row.

    Returns:
        Low and high bits [R, U, 2, 4] and activations [1, U, 2, 4], four of them a word; scales [R, U, 2];
        super-scale [R, U] and activation scale [1, U].
    """
    pair = unit % UNITS_PER_BLOCK
    chunk = pair // 4
    inside_row = (unit < units)[None, :]
    inside = (row < rows)[:, None] & inside_row
    half = tl.arange(0, 2)
    word = ((half * 4)[:, None] + tl.arange(0, 4)[None, :])[None, None, :, :]

    blocks_in_row = units // UNITS_PER_BLOCK
    block = row.to(tl.int64)[:, None] * blocks_in_row + (unit // UNITS_PER_BLOCK)[None, :]
    words = weights.to(tl.pointer_type(tl.uint32))
    block_words = block * (PADDED_BLOCK_BYTES // 4)
    low_words = block_words + (chunk * 16 + (unit % 2) * 8 + QL_OFFSET // 4)[None, :]
    low = tl.load(words + (low_words[:, :, None, None] + word), mask=inside[:, :, None, None], other=0)
    high_words = block_words + (chunk * 8 + QH_OFFSET // 4)[None, :]
    high = tl.load(words + (high_words[:, :, None, None] + word), mask=inside[:, :, None, None], other=0)
    scale_bytes = block * PADDED_BLOCK_BYTES + (pair * 2 + SCALES_OFFSET)[None, :]
    scales = weights.to(tl.pointer_type(tl.int8)) + (scale_bytes[:, :, None] + half[None, None, :])
    scale = tl.load(scales, mask=inside[:, :, None], other=0)
    super_scales = (
        weights.to(tl.pointer_type(tl.float16)) + (block * PADDED_BLOCK_BYTES + SUPER_SCALE_OFFSET) // 2
    )
    super_scale = tl.load(super_scales, mask=inside, other=0.0)

    group_words = (unit * (ACTIVATION_BYTES // 4) + ACTIVATION_VALUES_OFFSET // 4)[None, :, None, None] + word
    values = activations.to(tl.pointer_type(tl.int32)) + group_words
    value = tl.load(values, mask=inside_row[:, :, None, None], other=0)
    activation_scales = (
        activations.to(tl.pointer_type(tl.float16)) + (unit * (ACTIVATION_BYTES // 2))[None, :]
    )
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
    unit_dot = tl.sum(half_dot * scale.to(tl.int32), axis=2)
    return (super_scale.to(tl.float32) * activation_scale.to(tl.float32)) * unit_dot.to(tl.float32)


@triton.constexpr_function
def exponent_of(power_of_two):
    """Give the exponent of a power of two."""
    return power_of_two.bit_length() - 1


@triton.jit
def sum_lanes(terms):
    """Add [R, U] float32 along its U lanes (a power of two) in halves: [R].

    A sum of two does not depend on their order, so this tree gives the same bits under any register layout
    that the compiler picks, and in the interpreter; one `tl.sum` over all lanes does not.
    """
    rows: tl.constexpr = terms.shape[0]
    lanes: tl.constexpr = terms.shape[1]
    for step in tl.static_range(exponent_of(lanes)):
        terms = tl.sum(tl.reshape(terms, (rows, 2, lanes >> (step + 1))), axis=1)
    return tl.reshape(terms, (rows,))
