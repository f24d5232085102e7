"""Combine the partial results of the segments (the second half of the 3D arm)."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.attend_segments import segment_length


@triton.jit
def reduce_segments(
    output_ptr,
    partial_ptr,
    maximum_ptr,
    exp_sum_ptr,
    seq_lens_ptr,
    query_starts_ptr,
    query_heads,
    output_stride_token,
    output_stride_head,
    HEAD_SIZE: tl.constexpr,
    HEAD_PADDED: tl.constexpr,
    SEGMENTS: tl.constexpr,
    SEGMENTS_PADDED: tl.constexpr,
    TILE: tl.constexpr,
):
    """Compute the output of one token and head; grid (query tokens of a sequence, query heads, sequences).

    Tokens behind the last sequence (the padding of a captured graph) belong to no program. Segments that
    wrote nothing are never read; segments without a visible key do not count; without any, the output is 0.

    Shapes and units:
        output_ptr: [tokens, query heads, HEAD_SIZE].
        partial_ptr: As `attend_segments` wrote it.
        maximum_ptr: As `attend_segments` wrote it.
        exp_sum_ptr: As `attend_segments` wrote it.
        seq_lens_ptr: Keys of each sequence, int32 [sequences].
        query_starts_ptr: First token of each sequence and the end, int32 [sequences + 1].
        query_heads: Query heads of the model.
        HEAD_PADDED: HEAD_SIZE padded to a power of two.
        SEGMENTS_PADDED: SEGMENTS padded to a power of two.
        TILE: As in `attend_segments`.
    """
    token = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    sequence = tl.program_id(2).to(tl.int64)
    query_start = tl.load(query_starts_ptr + sequence)
    if token >= tl.load(query_starts_ptr + sequence + 1) - query_start:
        return
    seq_len = tl.load(seq_lens_ptr + sequence)
    row = (query_start + token).to(tl.int64)

    segment = tl.arange(0, SEGMENTS_PADDED)
    written = (segment < SEGMENTS) & (segment * segment_length(seq_len, SEGMENTS, TILE) < seq_len)
    slot = (row * query_heads + head) * SEGMENTS + segment
    maximum = tl.load(maximum_ptr + slot, mask=written, other=float("-inf"))
    counts = maximum > float("-inf")
    overall = tl.max(maximum, 0)
    weight = tl.where(counts, tl.exp2(maximum - tl.where(counts, overall, 0.0)), 0.0)
    exp_sum = tl.sum(weight * tl.load(exp_sum_ptr + slot, mask=counts, other=0.0), 0)

    dim = tl.arange(0, HEAD_PADDED)
    partial_at = partial_ptr + slot[:, None] * HEAD_PADDED + dim[None, :]
    partial = tl.load(partial_at, mask=counts[:, None] & (dim < HEAD_SIZE)[None, :], other=0.0)
    output = tl.sum(weight[:, None] * partial, 0) / tl.where(exp_sum > 0.0, exp_sum, 1.0)
    output_at = output_ptr + row * output_stride_token + head * output_stride_head + dim
    tl.store(output_at, output.to(output_ptr.dtype.element_ty), mask=dim < HEAD_SIZE)
