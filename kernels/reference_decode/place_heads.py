"""Turn queries and keys by their position, rotate heads for the cache, and write keys and values to it."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.write_cache import quantize_row, rotate_row
from guardrail.kernels.programmatic_launch.device import let_next_start, wait


@triton.jit
def place_heads(
    query_key_ptr,
    value_ptr,
    bias_ptr,
    cosines_ptr,
    sines_ptr,
    slots_ptr,
    signs_ptr,
    queries_ptr,
    key_bytes_ptr,
    key_scale_ptr,
    value_bytes_ptr,
    value_scale_ptr,
    query_key_stride,
    value_stride,
    stride_block,
    stride_head,
    stride_slot,
    scale_stride_block,
    scale_stride_head,
    scale_stride_slot,
    QUERY_HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    HEAD_SIZE: tl.constexpr,
    HALF_PADDED: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    PDL: tl.constexpr,
):
    """Place one head of one token; grid (tokens, query, key and value heads).

    A bias is added; queries and keys are turned; the head is rounded to fp16 and rotated as the cache's signs
    say. Queries are stored so, keys and values quantized into the cache.

    Shapes and units:
        query_key_ptr: Queries, then keys, fp32 [tokens, query and key columns], rows apart by
            query_key_stride.
        value_ptr: fp32 [tokens, value columns], rows apart by value_stride.
        bias_ptr: Of queries, keys and values, fp32 [all columns]; None for none.
        cosines_ptr: Of each token's angles, fp32 [tokens, HEAD_SIZE / 2].
        sines_ptr: fp32 [tokens, HEAD_SIZE / 2].
        slots_ptr: Cache slot of each token, int64 [tokens]; keys and values of a negative one are skipped.
        signs_ptr: As in `write_cache`.
        queries_ptr: Rotated queries, fp16 [tokens, QUERY_HEADS, HEAD_SIZE], written.
        key_bytes_ptr: As in `write_cache`; so are the scales, the values and their strides.
        HALF_PADDED: Half of HEAD_SIZE, padded to a power of two.
        BLOCK_SIZE: Tokens of a block.
        INTERLEAVED: Whether neighbours are turned, or an element of each half.
        PDL: Whether the kernel is launched programmatically.
    """
    TURNED: tl.constexpr = QUERY_HEADS + KV_HEADS
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    half = tl.arange(0, HALF_PADDED)
    dim = 2 * half[:, None] + tl.arange(0, 2)[None, :]
    inside = dim < HEAD_SIZE
    partner, angle, first = _turned_with(dim, HEAD_SIZE, INTERLEAVED)
    if bias_ptr is not None:
        bias = tl.load(bias_ptr + head * HEAD_SIZE + dim, mask=inside, other=0.0)
        partner_bias = tl.load(bias_ptr + head * HEAD_SIZE + partner, mask=inside, other=0.0)
    # Attention reads the batch's lengths before its own wait: it may start once what wrote them has ended.
    wait(PDL)
    let_next_start(PDL)
    slot = tl.load(slots_ptr + token)
    if head < TURNED:
        row_ptr = query_key_ptr + token * query_key_stride + head * HEAD_SIZE
        x = tl.load(row_ptr + dim, mask=inside, other=0.0)
        other = tl.load(row_ptr + partner, mask=inside, other=0.0)
        if bias_ptr is not None:
            x += bias
            other += partner_bias
        angle_at = token * (HEAD_SIZE // 2) + angle
        cosine = tl.load(cosines_ptr + angle_at, mask=inside, other=1.0)
        sine = tl.load(sines_ptr + angle_at, mask=inside, other=0.0)
        placed = x * cosine + tl.where(first, -other, other) * sine
    else:
        row_ptr = value_ptr + token * value_stride + (head - TURNED) * HEAD_SIZE
        placed = tl.load(row_ptr + dim, mask=inside, other=0.0)
        if bias_ptr is not None:
            placed += bias
    even, odd = tl.split(placed.to(tl.float16))
    even, odd = rotate_row(even, odd, signs_ptr, half, HEAD_SIZE)

    if head < QUERY_HEADS:
        queries_ptr += (token * QUERY_HEADS + head) * HEAD_SIZE
        tl.store(queries_ptr + dim, tl.join(even, odd), mask=inside)
    elif slot >= 0:
        kv_head = ((head - QUERY_HEADS) % KV_HEADS).to(tl.int64)
        block = slot // BLOCK_SIZE
        offset = slot % BLOCK_SIZE
        in_head = half < HEAD_SIZE // 2
        packed, scale = quantize_row(even.to(tl.float32), odd.to(tl.float32), in_head)
        bytes_at = block * stride_block + kv_head * stride_head + offset * stride_slot + half
        scale_at = block * scale_stride_block + kv_head * scale_stride_head + offset * scale_stride_slot
        if head < TURNED:
            tl.store(key_bytes_ptr + bytes_at, packed, mask=in_head)
            tl.store(key_scale_ptr + scale_at, scale)
        else:
            tl.store(value_bytes_ptr + bytes_at, packed, mask=in_head)
            tl.store(value_scale_ptr + scale_at, scale)


@triton.jit
def _turned_with(dim, HEAD_SIZE: tl.constexpr, INTERLEAVED: tl.constexpr):
    """Tell which element each one is turned with, by which angle, and whether it is the first of the two."""
    half: tl.constexpr = HEAD_SIZE // 2
    if INTERLEAVED:
        partner = dim ^ 1
        angle = dim // 2
        first = dim % 2 == 0
    else:
        partner = tl.where(dim < half, dim + half, dim - half)
        angle = dim % half
        first = dim < half
    return partner, angle, first
