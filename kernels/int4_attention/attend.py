"""Attention in one pass over the keys (the 2D arm)."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.tile import accumulate, locate_rows, visible_range


@triton.jit
def attend(
    output_ptr,
    query_ptr,
    key_ptr,
    key_scale_ptr,
    value_ptr,
    value_scale_ptr,
    block_table_ptr,
    seq_lens_ptr,
    query_starts_ptr,
    score_scale,
    output_stride_token,
    output_stride_head,
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
):
    """Compute the outputs of one block of query rows; grid (query blocks, KV heads, sequences).

    Rows that see no key (an empty sequence, a context shorter than the query) get zeros.

    Shapes and units:
        output_ptr: [tokens, query heads, HEAD_SIZE].
        query_ptr: Rotated queries, [tokens, query heads, HEAD_SIZE].
        key_ptr: Packed keys, uint8 [blocks, KV heads, BLOCK_SIZE, HEAD_SIZE / 2].
        key_scale_ptr: fp32 [blocks, KV heads, BLOCK_SIZE], the zero point in the low 4 bits.
        value_ptr: Packed values, strides as the keys.
        value_scale_ptr: Strides as the key scales.
        block_table_ptr: int32 [sequences, blocks of a sequence].
        seq_lens_ptr: Keys of each sequence, int32 [sequences].
        query_starts_ptr: First token of each sequence and the end, int32 [sequences + 1].
        score_scale: Factor on the product of query and key.
        HALF_PADDED: Half of HEAD_SIZE, padded to a power of two.
        GROUP: Query heads that share one KV head.
        ROWS: Query rows of a program, at least 16.
        TILE: Keys of one step.
        WINDOW: Keys that a row sees at most, its own included; 0 for all.
        SOFTCAP: Bound of the scores; 0 for none.
    """
    query_block = tl.program_id(0)
    kv_head = tl.program_id(1).to(tl.int64)
    sequence = tl.program_id(2).to(tl.int64)
    query_start = tl.load(query_starts_ptr + sequence)
    query_len = tl.load(query_starts_ptr + sequence + 1) - query_start
    if query_block * ROWS >= query_len * GROUP:
        return
    seq_len = tl.load(seq_lens_ptr + sequence)

    token, head, exists = locate_rows(query_block, kv_head, query_len, ROWS, GROUP)
    start, end = visible_range(query_block, query_len, seq_len, ROWS, GROUP, TILE, WINDOW)
    row = query_start + token
    _, exp_sum, weighted = accumulate(
        query_ptr, row * query_stride_token + head * query_stride_head, exists, seq_len - query_len + token,
        key_ptr, key_scale_ptr, value_ptr, value_scale_ptr, block_table_ptr + sequence * table_stride,
        kv_head, start, end, score_scale, stride_block, stride_head, stride_slot,
        scale_stride_block, scale_stride_head, scale_stride_slot,
        HEAD_SIZE, HALF_PADDED, BLOCK_SIZE, ROWS, TILE, WINDOW, SOFTCAP,
    )  # fmt: skip

    share = 1.0 / tl.where(exp_sum > 0.0, exp_sum, 1.0)[:, None]
    dim = tl.arange(0, 2 * HALF_PADDED)
    output_rows = output_ptr + row * output_stride_token + head * output_stride_head
    mask = exists[:, None] & (dim < HEAD_SIZE)[None, :]
    output = (weighted * share).to(output_ptr.dtype.element_ty)
    tl.store(output_rows[:, None] + dim[None, :], output, mask=mask)
