"""The part that both attention kernels share: query rows, and an online softmax over a range of cached keys.

One program takes every query row that shares a KV head, as far as the registers go, so that each cached byte
is read once for all of them. Scores are in base 2.
"""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.levels import STEP, unpack

LOG2_E = tl.constexpr(1.4426950408889634)

# The cache format's smallest scale, 1e-6, is below 2**-19.
_SMALLEST_EXPONENT = tl.constexpr(-19.0)


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
def load_queries(
    query_ptr,
    query_block,
    kv_head,
    query_start,
    query_len,
    stride_token,
    stride_head,
    HEAD_SIZE: tl.constexpr,
    WORDS: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Load the query rows of a program; rows behind the sequence's last are zero.

    Returns:
        fp16 [ROWS, 8 * WORDS].
    """
    row = query_block * ROWS + tl.arange(0, ROWS)
    token = (query_start + row // GROUP).to(tl.int64)
    head = kv_head * GROUP + row % GROUP
    dim = tl.arange(0, 8 * WORDS)
    exists = row < query_len * GROUP
    at = query_ptr + (token * stride_token + head * stride_head)[:, None] + dim[None, :]
    mask = exists[:, None] & (dim < HEAD_SIZE)[None, :]
    return tl.load(at, mask=mask, other=0.0).to(tl.float16)


@triton.jit
def accumulate(
    query,
    cache_ptr,
    table_row_ptr,
    start,
    end,
    query_block,
    query_len,
    seq_len,
    score_scale,
    stride_block,
    STRIDE_SLOT: tl.constexpr,
    HEAD_SIZE: tl.constexpr,
    WORDS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    RUN: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFTCAP: tl.constexpr,
    INLINE_ASM: tl.constexpr,
):
    """Run an online softmax over the keys [start, end).

    The weights that reach the tensor cores contain the value scales and must fit fp16, so they are taken
    relative to the largest score so far and to a power of two above the largest value scale so far: together,
    the reference. The largest score of a row that has met no visible key stays minus infinity: a finite
    stand-in would outlive the tile and outweigh real scores far below zero.

    Shapes and units:
        query: fp16 [ROWS, 8 * WORDS].
        cache_ptr: First row of the KV head in the first block, int32 words.
        table_row_ptr: The sequence's row of the block table.
        score_scale: Factor on the product of query and key.
        stride_block: Words.
        STRIDE_SLOT: Words.
        RUN: Keys in a row that always lie in one block: the greatest common divisor of BLOCK_SIZE and TILE.

    Returns:
        In fp32: reference, [ROWS]; sum of exponentials relative to it, [ROWS]; weighted sum of the values
        relative to it, [ROWS, 8 * WORDS].
    """
    KEY_SCALE: tl.constexpr = HEAD_SIZE // 8
    VALUE: tl.constexpr = KEY_SCALE + 1
    VALUE_SCALE: tl.constexpr = VALUE + HEAD_SIZE // 8
    query_sum = tl.sum(query.to(tl.float32), 1) * STEP
    level_scale = score_scale * (LOG2_E / STEP)
    row_position = seq_len - query_len + (query_block * ROWS + tl.arange(0, ROWS)) // GROUP
    oldest_position = seq_len - query_len + query_block * ROWS // GROUP
    newest_token = tl.minimum(((query_block + 1) * ROWS - 1) // GROUP, query_len - 1)
    newest_position = seq_len - query_len + newest_token

    word = tl.arange(0, WORDS)
    # What is read behind the row counts for nothing: queries are zero there, and no one stores the outputs.
    in_row = None if 8 * WORDS == HEAD_SIZE else (word < HEAD_SIZE // 8)[None, None, :]
    # In 64 bits, so that what is constant about it becomes part of the load instruction.
    slot_at = tl.arange(0, RUN).to(tl.int64) * STRIDE_SLOT
    words_at = slot_at[:, None] + word[None, :]

    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    exponent = tl.full([ROWS], _SMALLEST_EXPONENT, tl.float32)
    exp_sum = tl.zeros([ROWS], tl.float32)
    excess = tl.zeros([ROWS], tl.float32)
    weighted = tl.zeros([ROWS, 8 * WORDS], tl.float32)

    for first in range(start, end, TILE):
        # Runs behind the last key repeat the last run, which exists; their scores are masked below.
        run = tl.minimum(first + RUN * tl.arange(0, TILE // RUN), (end - 1) // RUN * RUN)
        block = tl.load(table_row_ptr + run // BLOCK_SIZE).to(tl.int64)
        run_ptr = cache_ptr + block * stride_block + run % BLOCK_SIZE * STRIDE_SLOT
        key_words = tl.load(run_ptr[:, None, None] + words_at[None, :, :], mask=in_row)
        key_bits = tl.reshape(tl.load(run_ptr[:, None] + slot_at[None, :] + KEY_SCALE), [TILE])
        value_bits = tl.reshape(tl.load(run_ptr[:, None] + slot_at[None, :] + VALUE_SCALE), [TILE])

        keys = unpack(tl.reshape(key_words, [TILE, WORDS]), INLINE_ASM)
        product = tl.dot(query, tl.trans(keys))
        product -= query_sum[:, None] * (key_bits & 15).to(tl.float32)[None, :]
        score = product * ((key_bits & -16).to(tl.float32, bitcast=True) * level_scale)[None, :]
        if SOFTCAP > 0:
            # tanh(x) = 1 - 2 / (exp(2x) + 1) reaches its limits where exp overflows or vanishes.
            score = (SOFTCAP * LOG2_E) * (1.0 - 2.0 / (tl.exp2(score * (2.0 / SOFTCAP)) + 1.0))
        hides = first + TILE > tl.minimum(oldest_position + 1, end)
        if WINDOW > 0:
            hides = hides | (first <= newest_position - WINDOW)
        if hides:
            position = first + tl.arange(0, TILE)
            visible = (position[None, :] <= row_position[:, None]) & (position < end)[None, :]
            if WINDOW > 0:
                visible = visible & (position[None, :] > row_position[:, None] - WINDOW)
            score = tl.where(visible, score, float("-inf"))
            # Behind the last key lies what the block held before: any bits.
            value_bits = tl.where(position < end, value_bits, 0)

        # Bits of positive numbers compare as the numbers do. Rows get a copy each, so that the maximum stays
        # within a warp.
        largest_bits = tl.max(tl.broadcast_to(value_bits[None, :], [ROWS, TILE]), 1)
        new_exponent = tl.maximum(exponent, ((largest_bits >> 23) - 126).to(tl.float32))
        new_maximum = tl.maximum(maximum, tl.max(score, 1))
        reference = tl.where(new_maximum > float("-inf"), new_maximum, 0.0) + new_exponent
        decay = tl.exp2(maximum + exponent - reference)
        weight = tl.exp2(score - reference[:, None])
        exp_sum = exp_sum * decay + tl.sum(weight, 1)
        maximum = new_maximum
        exponent = new_exponent

        value_words = tl.load(run_ptr[:, None, None] + words_at[None, :, :] + VALUE, mask=in_row)
        values = unpack(tl.reshape(value_words, [TILE, WORDS]), INLINE_ASM)
        scaled_weight = weight * (value_bits & -16).to(tl.float32, bitcast=True)[None, :]
        rounded_weight = scaled_weight.to(tl.float16)
        # The tile before is settled here, where the accumulators are rescaled anyway: what zero points add
        # grows with the keys, and the small difference that matters would be rounded as the large sum is.
        weighted = tl.dot(rounded_weight, values, weighted * decay[:, None] - (excess * decay)[:, None])
        # Of the rounded weights, as the products are: what the zero point adds must come off in full.
        zero_point = (value_bits & 15).to(tl.float32) * STEP
        excess = tl.sum(rounded_weight.to(tl.float32) * zero_point[None, :], 1)

    return maximum + exponent, exp_sum, (weighted - excess[:, None]) * (1.0 / STEP)
