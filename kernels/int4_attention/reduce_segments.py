"""Combine the partial results of the segments (the second half of the 3D arm)."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.attend_segments import segment_length
from guardrail.kernels.int4_attention.hadamard import hadamard
from guardrail.kernels.int4_attention.tile import LOG2_E
from guardrail.kernels.kquants.q8_groups import GROUP_BYTES, GROUP_ELEMENTS, store_groups
from guardrail.kernels.programmatic_launch.device import let_next_start, wait


@triton.jit(do_not_specialize=["segments", "scratch_rows"])
def reduce_segments(
    output_ptr,
    groups_ptr,
    partial_ptr,
    maximum_ptr,
    exp_sum_ptr,
    seq_lens_ptr,
    query_starts_ptr,
    sinks_ptr,
    signs_ptr,
    segments,
    scratch_rows,
    output_stride_token,
    output_stride_head,
    HEAD_SIZE: tl.constexpr,
    HEAD_PADDED: tl.constexpr,
    GROUP: tl.constexpr,
    TILE: tl.constexpr,
    CHUNK: tl.constexpr,
    DIMS: tl.constexpr,
    PDL: tl.constexpr,
):
    """Compute some dimensions of one token and head's output.

    The grid is (query tokens of a sequence x HEAD_PADDED / DIMS, query heads, sequences). Tokens behind
    the last sequence (the padding of a captured graph) belong to no program. Segments that wrote nothing are
    never read; segments without a visible key do not count; without any, the output is 0.

    Shapes and units:
        output_ptr: [tokens, query heads, HEAD_SIZE].
        groups_ptr: Where the outputs go as q8 groups instead, rounded to the output's type before, uint8
            [tokens, query heads * HEAD_SIZE / 32, 40]; None for nowhere.
        partial_ptr: As `attend_segments` wrote it.
        maximum_ptr: As `attend_segments` wrote it.
        exp_sum_ptr: As `attend_segments` wrote it.
        seq_lens_ptr: Keys of each sequence, int32 [sequences].
        query_starts_ptr: First token of each sequence and the end, int32 [sequences + 1].
        sinks_ptr: As in `attend`.
        signs_ptr: Signs of the rotation that outputs are to be rotated back by, fp32 [largest power of two
            that divides HEAD_SIZE]; None to leave them rotated.
        segments: As in `attend_segments`.
        scratch_rows: As in `attend_segments`.
        HEAD_PADDED: HEAD_SIZE padded to a power of two.
        GROUP: Query heads that share one KV head.
        TILE: As in `attend_segments`.
        CHUNK: Segments of one step.
        DIMS: Dimensions of one program; all of them where outputs are rotated back.
        PDL: Whether the kernel is launched programmatically.
    """
    let_next_start(PDL)
    parts: tl.constexpr = HEAD_PADDED // DIMS
    token = tl.program_id(0) // parts
    head = tl.program_id(1).to(tl.int64)
    sequence = tl.program_id(2).to(tl.int64)
    query_start = tl.load(query_starts_ptr + sequence, cache_modifier=".cg")
    if token >= tl.load(query_starts_ptr + sequence + 1, cache_modifier=".cg") - query_start:
        return
    seq_len = tl.load(seq_lens_ptr + sequence, cache_modifier=".cg")
    row = (query_start + token).to(tl.int64)
    first_slot = ((head // GROUP * scratch_rows + row) * GROUP + head % GROUP) * segments
    written = tl.cdiv(seq_len, segment_length(seq_len, segments, TILE))
    maximum_ptr += first_slot
    exp_sum_ptr += first_slot
    dim = tl.program_id(0) % parts * DIMS + tl.arange(0, DIMS)
    partial_ptr += first_slot * HEAD_PADDED
    wait(PDL)

    overall = tl.full([], float("-inf"), tl.float32)
    for first in range(0, written, CHUNK):
        segment = first + tl.arange(0, CHUNK)
        maximum = tl.load(maximum_ptr + segment, mask=segment < written, other=float("-inf"))
        overall = tl.maximum(overall, tl.max(maximum, 0))
    exp_sum = tl.zeros([], tl.float32)
    if sinks_ptr is not None:
        sink = tl.load(sinks_ptr + head).to(tl.float32) * LOG2_E
        overall = tl.maximum(overall, sink)
        exp_sum += tl.exp2(sink - overall)

    weighted = tl.zeros([DIMS], tl.float32)
    for first in range(0, written, CHUNK):
        segment = first + tl.arange(0, CHUNK)
        maximum = tl.load(maximum_ptr + segment, mask=segment < written, other=float("-inf"))
        counts = maximum > float("-inf")
        weight = tl.where(counts, tl.exp2(maximum - tl.where(counts, overall, 0.0)), 0.0)
        exp_sum += tl.sum(weight * tl.load(exp_sum_ptr + segment, mask=counts, other=0.0), 0)
        at = partial_ptr + segment[:, None] * HEAD_PADDED + dim[None, :]
        partial = tl.load(at, mask=counts[:, None] & (dim < HEAD_SIZE)[None, :], other=0.0)
        weighted += tl.sum(weight[:, None] * partial, 0)

    output = weighted / tl.where(exp_sum > 0.0, exp_sum, 1.0)
    if signs_ptr is not None:
        BLOCK: tl.constexpr = HEAD_SIZE & -HEAD_SIZE
        rotated = tl.reshape(hadamard(tl.reshape(output, [1, DIMS]), BLOCK), [DIMS])
        output = rotated * tl.load(signs_ptr + dim % BLOCK) * (1.0 / BLOCK)
    rounded = output.to(output_ptr.dtype.element_ty)
    if groups_ptr is not None:
        HEAD_GROUPS: tl.constexpr = HEAD_SIZE // GROUP_ELEMENTS
        row_groups = tl.num_programs(1) * HEAD_GROUPS
        end = (head + 1) * HEAD_GROUPS
        first = head * HEAD_GROUPS + tl.program_id(0) % parts * (DIMS // GROUP_ELEMENTS)
        store_groups(groups_ptr + row * row_groups * GROUP_BYTES, rounded.to(tl.float32), first, end)
    else:
        output_at = output_ptr + row * output_stride_token + head * output_stride_head + dim
        tl.store(output_at, rounded, mask=dim < HEAD_SIZE)
