"""v1: the arm for what the others cannot read: single bytes, units of 16 elements, any row and stride."""

import triton
import triton.language as tl

from guardrail.kernels.kquants.geometry import GROUP_BYTES as _GROUP_BYTES
from guardrail.kernels.kquants.geometry import GROUP_VALUES_OFFSET as _GROUP_VALUES_OFFSET
from guardrail.kernels.q6k import geometry
from guardrail.kernels.q6k.elements import load_scale, load_weight

HALF_ELEMENTS = tl.constexpr(geometry.HALF_ELEMENTS)
HALVES_PER_BLOCK = tl.constexpr(geometry.HALVES_PER_BLOCK)
GROUP_BYTES = tl.constexpr(_GROUP_BYTES)
GROUP_VALUES_OFFSET = tl.constexpr(_GROUP_VALUES_OFFSET)


@triton.jit(do_not_specialize=["rows", "halves"])
def mmvq_v1(
    weights,
    activations,
    output,
    rows,
    halves,
    BLOCK_BYTES: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_HALVES: tl.constexpr,
):
    """Multiply q6_K rows with a q8 vector, in units of the 16 elements that share a scale.

    Args:
        weights: [rows, ceil(halves / 16), BLOCK_BYTES] bytes.
        activations: [halves / 2, 40] bytes.
        output: [rows] float32.
        rows: Matrix rows.
        halves: 16-element units in a row, an even number; the last block of a row may hold fewer than 16.
        BLOCK_BYTES: Bytes from one q6_K block to the next: 210 as files hold them, 224 padded.
        ROWS: Rows a program computes.
        BLOCK_HALVES: 16-element units in a tile, a power of two.
    """
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row_blocks = tl.cdiv(halves, HALVES_PER_BLOCK)
    element = tl.arange(0, HALF_ELEMENTS)[None, None, :]
    total = tl.zeros((ROWS, BLOCK_HALVES), dtype=tl.float32)
    for start in range(0, halves, BLOCK_HALVES):
        half = start + tl.arange(0, BLOCK_HALVES)
        in_row = (half < halves)[None, :]
        inside = (row < rows)[:, None] & in_row
        number = row.to(tl.int64)[:, None] * row_blocks + (half // HALVES_PER_BLOCK)[None, :]
        block = weights + number * BLOCK_BYTES
        in_block = (half % HALVES_PER_BLOCK)[None, :]
        weight = load_weight(
            block[:, :, None], in_block[:, :, None] * HALF_ELEMENTS + element, inside[:, :, None]
        )
        scale = load_scale(block, in_block, inside)
        group = activations + (half // 2) * GROUP_BYTES
        first_value = group + GROUP_VALUES_OFFSET + (half % 2) * HALF_ELEMENTS
        values = (first_value[None, :, None] + element).to(tl.pointer_type(tl.int8), bitcast=True)
        value = tl.load(values, mask=in_row[:, :, None], other=0).to(tl.int32)
        factors = group.to(tl.pointer_type(tl.float16), bitcast=True)[None, :]
        factor = tl.load(factors, mask=in_row, other=0.0).to(tl.float32)
        total += scale * factor * tl.sum(weight * value, axis=2).to(tl.float32)
    tl.store(output + row, tl.sum(total, axis=1), mask=row < rows)
