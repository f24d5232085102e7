"""Attention over segments of the keys, one partial result for each (the first half of the 3D arm)."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.tile import accumulate, locate_rows, visible_range


@triton.jit
def segment_length(seq_len, SEGMENTS: tl.constexpr, TILE: tl.constexpr):
    """Divide the keys of a sequence among its segments.

    Returns:
        Keys of every segment but the last, a multiple of TILE.
    """
    return tl.cdiv(tl.cdiv(seq_len, TILE), SEGMENTS) * TILE


@triton.jit
def attend_segments(
    partial_ptr,
    maximum_ptr,
    exp_sum_ptr,
    query_ptr,
    key_ptr,
    key_scale_ptr,
    value_ptr,
    value_scale_ptr,
    block_table_ptr,
    seq_lens_ptr,
    query_starts_ptr,
    score_scale,
    query_heads,
    query_stride_token,
    query_stride_head,
    table_stride,
    stride_block,
    stride_head,
    stride_slot,
    scale_stride_block,
    scale_stride_head,
    scale_stride_slot,
    HEAD_SIZE: tl.constexpr,
    HALF_PADDED: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    TILE: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFTCAP: tl.constexpr,
    SEGMENTS: tl.constexpr,
):
    """Compute one segment's partial result; grid (query blocks x SEGMENTS, KV heads, sequences).

    A segment that starts past the sequence's last key writes nothing. A row that sees no key of a visited
    segment writes a maximum of minus infinity. The reduction knows both.

    Shapes and units:
        partial_ptr: Weighted sums, fp32 [token rows, query heads, SEGMENTS, 2 * HALF_PADDED], contiguous.
        maximum_ptr: Maximum of the base-2 scores, fp32 [token rows, query heads, SEGMENTS], contiguous.
        exp_sum_ptr: Sum of exponentials, shaped as the maxima.
        query_heads: Query heads of the model.
        SEGMENTS: Segments that a sequence is divided into.

    The other arguments are those of `attend`.
    """
    query_block = tl.program_id(0) // SEGMENTS
    segment = tl.program_id(0) % SEGMENTS
    kv_head = tl.program_id(1).to(tl.int64)
    sequence = tl.program_id(2).to(tl.int64)
    query_start = tl.load(query_starts_ptr + sequence)
    query_len = tl.load(query_starts_ptr + sequence + 1) - query_start
    if query_block * ROWS >= query_len * GROUP:
        return
    seq_len = tl.load(seq_lens_ptr + sequence)
    length = segment_length(seq_len, SEGMENTS, TILE)
    if segment * length >= seq_len:
        return

    token, head, exists = locate_rows(query_block, kv_head, query_len, ROWS, GROUP)
    start, end = visible_range(query_block, query_len, seq_len, ROWS, GROUP, TILE, WINDOW)
    row = query_start + token
    maximum, exp_sum, weighted = accumulate(
        query_ptr, row * query_stride_token + head * query_stride_head, exists, seq_len - query_len + token,
        key_ptr, key_scale_ptr, value_ptr, value_scale_ptr, block_table_ptr + sequence * table_stride,
        kv_head, tl.maximum(start, segment * length), tl.minimum(end, (segment + 1) * length), score_scale,
        stride_block, stride_head, stride_slot, scale_stride_block, scale_stride_head, scale_stride_slot,
        HEAD_SIZE, HALF_PADDED, BLOCK_SIZE, ROWS, TILE, WINDOW, SOFTCAP,
    )  # fmt: skip

    slot = (row * query_heads + head) * SEGMENTS + segment
    tl.store(maximum_ptr + slot, maximum, mask=exists)
    tl.store(exp_sum_ptr + slot, exp_sum, mask=exists)
    dim = tl.arange(0, 2 * HALF_PADDED)
    mask = exists[:, None] & (dim < HEAD_SIZE)[None, :]
    tl.store(partial_ptr + slot[:, None] * (2 * HALF_PADDED) + dim[None, :], weighted, mask=mask)
