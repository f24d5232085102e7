"""Attention over segments of the keys, one partial result for each (the first half of the 3D arm)."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.tile import accumulate, load_queries, visible_range
from guardrail.kernels.programmatic_launch.device import let_next_start, wait


@triton.jit
def segment_length(seq_len, segments, TILE: tl.constexpr):
    """Divide the keys of a sequence among its segments.

    Returns:
        Keys of every segment but the last, a positive multiple of TILE.
    """
    return tl.maximum(tl.cdiv(tl.cdiv(seq_len, TILE), segments), 1) * TILE


# A new batch shape compiles nothing: whatever a batch decides is a run-time argument of one type.
@triton.jit(do_not_specialize=["segments", "scratch_rows", "table_stride"])
def attend_segments(
    partial_ptr,
    maximum_ptr,
    exp_sum_ptr,
    query_ptr,
    cache_ptr,
    block_table_ptr,
    seq_lens_ptr,
    query_starts_ptr,
    score_scale,
    segments,
    scratch_rows,
    query_stride_token,
    query_stride_head,
    table_stride,
    stride_block,
    stride_head,
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
    PDL: tl.constexpr,
):
    """Compute one segment's partial result; grid (query blocks x segments, KV heads, sequences).

    A segment that starts past the sequence's last key writes nothing. A row that sees no key of a visited
    segment writes a maximum of minus infinity. The reduction knows both.

    Shapes and units:
        partial_ptr: Weighted sums, fp32 [KV heads, scratch_rows, GROUP, segments, 8 * WORDS], contiguous.
        maximum_ptr: What the sums are relative to, in base 2, fp32 [KV heads, scratch_rows, GROUP, segments],
            contiguous.
        exp_sum_ptr: Sums of exponentials, shaped as the maxima.
        segments: Segments that a sequence is divided into.
        scratch_rows: Query tokens that the scratch holds.

    The other arguments are those of `attend`.
    """
    let_next_start(PDL)
    # The query blocks of a segment run side by side, so that the second one finds the keys in the L2 cache.
    query_blocks = tl.num_programs(0) // segments
    query_block = tl.program_id(0) % query_blocks
    segment = tl.program_id(0) // query_blocks
    kv_head = tl.program_id(1).to(tl.int64)
    sequence = tl.program_id(2).to(tl.int64)
    query_start = tl.load(query_starts_ptr + sequence, cache_modifier=".cg")
    query_len = tl.load(query_starts_ptr + sequence + 1, cache_modifier=".cg") - query_start
    remaining = query_len * GROUP - query_block * ROWS
    if remaining <= 0:
        return
    seq_len = tl.load(seq_lens_ptr + sequence, cache_modifier=".cg")
    length = segment_length(seq_len, segments, TILE)
    if segment * length >= seq_len:
        return
    # Only lengths were read so far, which were there before this kernel was let start. Their loads go past
    # L1, and branches keep them ahead of the wait.
    wait(PDL)

    query = load_queries(
        query_ptr, query_block, kv_head, query_start, query_len, query_stride_token, query_stride_head,
        HEAD_SIZE, WORDS, GROUP, ROWS,
    )  # fmt: skip
    start, end = visible_range(query_block, query_len, seq_len, ROWS, GROUP, TILE, WINDOW)
    maximum, exp_sum, weighted = accumulate(
        query, cache_ptr + kv_head * stride_head, block_table_ptr + sequence * table_stride,
        tl.maximum(start, segment * length), tl.minimum(end, (segment + 1) * length),
        query_block, query_len, seq_len, score_scale, stride_block, STRIDE_SLOT,
        HEAD_SIZE, WORDS, BLOCK_SIZE, RUN, GROUP, ROWS, TILE, WINDOW, SOFTCAP, INLINE_ASM,
    )  # fmt: skip

    first_row = (kv_head * scratch_rows + query_start) * GROUP + query_block * ROWS
    first_slot = first_row * segments + segment
    row = tl.arange(0, ROWS)
    exists = row < remaining
    slot = row * segments
    tl.store(maximum_ptr + first_slot + slot, maximum, mask=exists)
    tl.store(exp_sum_ptr + first_slot + slot, exp_sum, mask=exists)
    dim = tl.arange(0, 8 * WORDS)
    mask = exists[:, None] & (dim < HEAD_SIZE)[None, :]
    partials = partial_ptr + first_slot * (8 * WORDS)
    tl.store(partials + (slot[:, None] * (8 * WORDS) + dim[None, :]), weighted, mask=mask)
