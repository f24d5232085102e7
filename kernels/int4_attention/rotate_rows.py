"""Rotate query rows, and rotate output rows back."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.hadamard import hadamard


@triton.jit(do_not_specialize=["sequences"])
def rotate_rows(
    rotated_ptr,
    rows_ptr,
    signs_ptr,
    query_starts_ptr,
    sequences,
    rotated_stride_token,
    rotated_stride_head,
    stride_token,
    stride_head,
    HEADS: tl.constexpr,
    HEAD_SIZE: tl.constexpr,
    HEAD_PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    BACK: tl.constexpr,
):
    """Rotate some heads of one token; grid (tokens, HEADS / ROWS rounded up).

    Tokens behind the last sequence (the padding of a captured graph) stay untouched. The rows may be rotated
    in place.

    Shapes and units:
        rotated_ptr: [tokens, HEADS, HEAD_SIZE].
        rows_ptr: [tokens, HEADS, HEAD_SIZE].
        signs_ptr: 1 or -1, fp32 [BLOCK].
        query_starts_ptr: First token of each sequence and the end, int32 [sequences + 1].
        HEAD_PADDED: HEAD_SIZE padded to a power of two.
        BLOCK: Largest power of two that divides HEAD_SIZE.
        ROWS: Heads of one program.
        BACK: Whether to undo a rotation, length included.
    """
    token = tl.program_id(0)
    if token >= tl.load(query_starts_ptr + sequences):
        return
    head = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    dim = tl.arange(0, HEAD_PADDED)
    mask = (head < HEADS)[:, None] & (dim < HEAD_SIZE)[None, :]
    at = rows_ptr + token.to(tl.int64) * stride_token + head[:, None] * stride_head + dim[None, :]
    rows = tl.load(at, mask=mask, other=0.0).to(tl.float32)
    signs = tl.load(signs_ptr + dim % BLOCK)[None, :]
    rows = hadamard(rows, BLOCK) * signs * (1.0 / BLOCK) if BACK else hadamard(rows * signs, BLOCK)
    rotated_at = rotated_ptr + token.to(tl.int64) * rotated_stride_token
    rotated_at += head[:, None] * rotated_stride_head + dim[None, :]
    tl.store(rotated_at, rows.to(rotated_ptr.dtype.element_ty), mask=mask)
