"""The part that both attention kernels share: query rows, and an online softmax over a range of cached keys.

One program takes every query row that shares a KV head, so that each cached byte is read once for all of
them. The nibbles become fp16 integers (exact), products accumulate in fp32, and the even and odd dimensions
(low and high nibbles) are kept apart, because their scores add up and their outputs interleave.
"""

import triton
import triton.language as tl

# The cache format's smallest scale (1e-6, with the low mantissa bits cleared) is above this.
_SMALLEST_UNIT = tl.constexpr(9.0e-7)


@triton.jit
def locate_rows(query_block, kv_head, query_len, ROWS: tl.constexpr, GROUP: tl.constexpr):
    """Map the rows of a program to query tokens and heads.

    Args:
        query_block: Index of the block of rows within the sequence.
        kv_head: The KV head that all rows share.
        query_len: Query tokens of the sequence.
        ROWS: Rows of a program.
        GROUP: Query heads that share one KV head.

    Returns:
        Token index within the sequence, query head, and whether the row exists; each of shape [ROWS].
    """
    row = query_block * ROWS + tl.arange(0, ROWS)
    token = row // GROUP
    head = kv_head * GROUP + row % GROUP
    return token.to(tl.int64), head.to(tl.int64), token < query_len


@triton.jit
def visible_range(
    query_block,
    query_len,
    seq_len,
    ROWS: tl.constexpr,
    GROUP: tl.constexpr,
    TILE: tl.constexpr,
    WINDOW: tl.constexpr,
):
    """Bound the keys that any row of a program sees under the causal mask and the sliding window.

    Returns:
        First key (a multiple of TILE) and one past the last key.
    """
    context = seq_len - query_len
    last_token = tl.minimum(((query_block + 1) * ROWS - 1) // GROUP, query_len - 1)
    end = tl.minimum(seq_len, context + last_token + 1)
    start = 0
    if WINDOW > 0:
        first_token = query_block * ROWS // GROUP
        start = tl.maximum(context + first_token - WINDOW + 1, 0) // TILE * TILE
    return start, end


@triton.jit
def load_nibbles(
    bytes_ptr,
    scales_ptr,
    block,
    slot,
    kv_head,
    stride_block,
    stride_head,
    stride_slot,
    scale_stride_block,
    scale_stride_head,
    scale_stride_slot,
    in_range,
    HEAD_SIZE: tl.constexpr,
    HALF_PADDED: tl.constexpr,
):
    """Load one tile of cached rows as integers from 0 to 15.

    Shapes and units:
        block: Cache block of each row, int64 [TILE].
        slot: Slot within the block, int64 [TILE].
        in_range: Whether the row exists, [TILE]; other rows read as zero.

    Returns:
        Even dimensions and odd dimensions, fp16 [TILE, HALF_PADDED], then scales with the zero point's bits
        cleared and zero points, fp32 [TILE].
    """
    byte = tl.arange(0, HALF_PADDED)
    # The layout aligns every row to its 4-byte scale; saying so widens the loads from one byte to four.
    rows = tl.multiple_of(bytes_ptr + block * stride_block + kv_head * stride_head + slot * stride_slot, 4)
    mask = in_range[:, None] & (byte < HEAD_SIZE // 2)[None, :]
    packed = tl.load(rows[:, None] + byte[None, :], mask=mask, other=0)
    scale_at = block * scale_stride_block + kv_head * scale_stride_head + slot * scale_stride_slot
    bits = tl.load(scales_ptr + scale_at, mask=in_range, other=0.0).to(tl.int32, bitcast=True)
    scale = (bits & -16).to(tl.float32, bitcast=True)
    return (packed & 15).to(tl.float16), (packed >> 4).to(tl.float16), scale, (bits & 15).to(tl.float32)


@triton.jit
def accumulate(
    query_ptr,
    query_rows,
    row_exists,
    row_position,
    key_ptr,
    key_scale_ptr,
    value_ptr,
    value_scale_ptr,
    table_row_ptr,
    kv_head,
    start,
    end,
    score_scale,
    stride_block,
    stride_head,
    stride_slot,
    scale_stride_block,
    scale_stride_head,
    scale_stride_slot,
    HEAD_SIZE: tl.constexpr,
    HALF_PADDED: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFTCAP: tl.constexpr,
):
    """Run an online softmax in base 2 over the keys [start, end).

    The maximum of a row that has met no visible key stays minus infinity: a finite stand-in would outlive the
    tile and outweigh real scores far below zero.

    Shapes and units:
        query_rows: Offset of each row's first element, int64 [ROWS].
        row_position: Key position of each row's own token, [ROWS]; a row sees no later key.
        table_row_ptr: The sequence's row of the block table.
        score_scale: Factor on the product of query and key.

    Returns:
        In fp32: maximum of the scores times log2(e), [ROWS]; sum of exponentials, [ROWS]; weighted sum of the
        values, [ROWS, 2 * HALF_PADDED].
    """
    LOG2_E: tl.constexpr = 1.4426950408889634
    dim = tl.arange(0, 2 * HALF_PADDED)
    query_mask = row_exists[:, None] & (dim < HEAD_SIZE)[None, :]
    query = tl.load(query_ptr + query_rows[:, None] + dim[None, :], mask=query_mask, other=0.0).to(tl.float16)
    query_sum = tl.sum(query.to(tl.float32), 1)
    query_even, query_odd = tl.split(tl.reshape(query, [ROWS, HALF_PADDED, 2]))

    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    exp_sum = tl.zeros([ROWS], tl.float32)
    even = tl.zeros([ROWS, HALF_PADDED], tl.float32)
    odd = tl.zeros([ROWS, HALF_PADDED], tl.float32)
    excess = tl.zeros([ROWS], tl.float32)
    # Value scales reach fp16 as fractions of the largest one so far, so no magnitude costs precision.
    unit = tl.full([], _SMALLEST_UNIT, tl.float32)

    for first in range(start, end, TILE):
        position = first + tl.arange(0, TILE)
        in_range = position < end
        block = tl.load(table_row_ptr + position // BLOCK_SIZE, mask=in_range, other=0).to(tl.int64)
        slot = (position % BLOCK_SIZE).to(tl.int64)

        key_even, key_odd, key_scale, key_zero = load_nibbles(
            key_ptr, key_scale_ptr, block, slot, kv_head, stride_block, stride_head, stride_slot,
            scale_stride_block, scale_stride_head, scale_stride_slot, in_range, HEAD_SIZE, HALF_PADDED,
        )  # fmt: skip
        product = tl.dot(query_even, tl.trans(key_even))
        product = tl.dot(query_odd, tl.trans(key_odd), product)
        product -= query_sum[:, None] * key_zero[None, :]
        score = product * (key_scale * score_scale)[None, :]
        if SOFTCAP > 0:
            # tanh(x) = 1 - 2 / (exp(2x) + 1) reaches its limits where exp overflows or vanishes.
            doubled = tl.exp2(score * (2 * LOG2_E / SOFTCAP))
            score = SOFTCAP * (1.0 - 2.0 / (doubled + 1.0))
        visible = row_exists[:, None] & in_range[None, :] & (position[None, :] <= row_position[:, None])
        if WINDOW > 0:
            visible = visible & (position[None, :] > row_position[:, None] - WINDOW)
        score = tl.where(visible, score * LOG2_E, float("-inf"))

        new_maximum = tl.maximum(maximum, tl.max(score, 1))
        shift = tl.where(new_maximum > float("-inf"), new_maximum, 0.0)
        weight = tl.exp2(score - shift[:, None])
        decay = tl.exp2(maximum - shift)
        exp_sum = exp_sum * decay + tl.sum(weight, 1)
        maximum = new_maximum

        value_even, value_odd, value_scale, value_zero = load_nibbles(
            value_ptr, value_scale_ptr, block, slot, kv_head, stride_block, stride_head, stride_slot,
            scale_stride_block, scale_stride_head, scale_stride_slot, in_range, HEAD_SIZE, HALF_PADDED,
        )  # fmt: skip
        new_unit = tl.maximum(unit, tl.max(value_scale, 0))
        rescale = decay * (unit / new_unit)
        unit = new_unit
        scaled_weight = (weight * (value_scale / unit)[None, :]).to(tl.float16)
        even = tl.dot(scaled_weight, value_even, even * rescale[:, None])
        odd = tl.dot(scaled_weight, value_odd, odd * rescale[:, None])
        # Of the rounded weights, as the products are: what the zero point adds must come off in full.
        excess = excess * rescale + tl.sum(scaled_weight.to(tl.float32) * value_zero[None, :], 1)

    return maximum, exp_sum, (tl.interleave(even, odd) - excess[:, None]) * unit
