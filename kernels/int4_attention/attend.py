"""Attention in one pass over the keys (the 2D arm)."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.tile import LOG2_E, accumulate, load_queries, visible_range


@triton.jit(do_not_specialize=["table_stride"])
def attend(
    output_ptr,
    query_ptr,
    cache_ptr,
    block_table_ptr,
    seq_lens_ptr,
    query_starts_ptr,
    sinks_ptr,
    score_scale,
    output_stride_token,
    output_stride_head,
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
):
    """Compute the outputs of one block of query rows; grid (query blocks, KV heads, sequences).

    Rows that see no key (an empty sequence, a context shorter than the query) get zeros.

    Shapes and units:
        output_ptr: [tokens, query heads, HEAD_SIZE].
        query_ptr: Rotated queries, [tokens, query heads, HEAD_SIZE].
        cache_ptr: int32 words [blocks, KV heads, BLOCK_SIZE, HEAD_SIZE / 4 + 2]: key, key scale, value, value
            scale in each row.
        block_table_ptr: int32 [sequences, blocks of a sequence].
        seq_lens_ptr: Keys of each sequence, int32 [sequences].
        query_starts_ptr: First token of each sequence and the end, int32 [sequences + 1].
        sinks_ptr: A score for each query head that takes part in the softmax and has no value, fp32
            [query heads]; None for none.
        score_scale: Factor on the product of query and key.
        STRIDE_SLOT: Words from one slot of a block to the next.
        WORDS: Words of a key, padded to a power of two.
        RUN: As in `accumulate`.
        GROUP: Query heads that share one KV head.
        ROWS: Query rows of a program, at least 16.
        TILE: Keys of one step.
        WINDOW: Keys that a row sees at most, its own included; 0 for all.
        SOFTCAP: Bound of the scores; 0 for none.
        INLINE_ASM: As in `unpack`.
    """
    query_block = tl.program_id(0)
    kv_head = tl.program_id(1).to(tl.int64)
    sequence = tl.program_id(2).to(tl.int64)
    query_start = tl.load(query_starts_ptr + sequence)
    query_len = tl.load(query_starts_ptr + sequence + 1) - query_start
    if query_block * ROWS >= query_len * GROUP:
        return
    seq_len = tl.load(seq_lens_ptr + sequence)

    query = load_queries(
        query_ptr, query_block, kv_head, query_start, query_len, query_stride_token, query_stride_head,
        HEAD_SIZE, WORDS, GROUP, ROWS,
    )  # fmt: skip
    start, end = visible_range(query_block, query_len, seq_len, ROWS, GROUP, TILE, WINDOW)
    maximum, exp_sum, weighted = accumulate(
        query, cache_ptr + kv_head * stride_head, block_table_ptr + sequence * table_stride, start, end,
        query_block, query_len, seq_len, score_scale, stride_block, STRIDE_SLOT,
        HEAD_SIZE, WORDS, BLOCK_SIZE, RUN, GROUP, ROWS, TILE, WINDOW, SOFTCAP, INLINE_ASM,
    )  # fmt: skip

    row = query_block * ROWS + tl.arange(0, ROWS)
    token = (query_start + row // GROUP).to(tl.int64)
    head = kv_head * GROUP + row % GROUP
    exists = row < query_len * GROUP
    if sinks_ptr is not None:
        sink = tl.load(sinks_ptr + head, mask=exists, other=0.0).to(tl.float32) * LOG2_E
        # Both relative to the larger one, so that neither overflows.
        over = tl.maximum(sink - maximum, 0.0)
        exp_sum = exp_sum * tl.exp2(-over) + tl.exp2(tl.minimum(sink - maximum, 0.0))
        weighted = weighted * tl.exp2(-over)[:, None]
    share = 1.0 / tl.where(exp_sum > 0.0, exp_sum, 1.0)
    dim = tl.arange(0, 8 * WORDS)
    at = output_ptr + (token * output_stride_token + head * output_stride_head)[:, None] + dim[None, :]
    output = (weighted * share[:, None]).to(output_ptr.dtype.element_ty)
    tl.store(at, output, mask=exists[:, None] & (dim < HEAD_SIZE)[None, :])
