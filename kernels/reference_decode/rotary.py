"""Add the biases of queries, keys and values, and turn queries and keys by their position."""

import triton
import triton.language as tl

from guardrail.kernels.programmatic_launch.device import begin


@triton.jit
def rotate_heads(
    query_key_ptr,
    value_ptr,
    bias_ptr,
    positions_ptr,
    cosines_ptr,
    sines_ptr,
    heads_ptr,
    query_key_stride,
    value_stride,
    TURNED: tl.constexpr,
    HEADS: tl.constexpr,
    HEAD_SIZE: tl.constexpr,
    HEAD_PADDED: tl.constexpr,
    ROWS: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    PDL: tl.constexpr,
):
    """Compute some heads of one token; grid (tokens, HEADS / ROWS rounded up).

    Shapes and units:
        query_key_ptr: Queries, then keys, fp32 [tokens, TURNED * HEAD_SIZE], rows apart by query_key_stride.
        value_ptr: fp32 [tokens, (HEADS - TURNED) * HEAD_SIZE], rows apart by value_stride.
        bias_ptr: Of queries, keys and values, fp32 [HEADS * HEAD_SIZE]; None for none.
        positions_ptr: int64 [tokens].
        cosines_ptr: fp32 [positions, HEAD_SIZE / 2].
        sines_ptr: fp32 [positions, HEAD_SIZE / 2].
        heads_ptr: Queries, keys and values, fp16 [tokens, HEADS, HEAD_SIZE], written.
        TURNED: Query and key heads.
        HEADS: Query, key and value heads.
        HEAD_PADDED: HEAD_SIZE padded to a power of two.
        ROWS: Heads of one program.
        INTERLEAVED: Whether neighbours are turned, or an element of each half.
        PDL: Whether the kernel is launched programmatically.
    """
    begin(PDL)
    token = tl.program_id(0).to(tl.int64)
    head = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
    dim = tl.arange(0, HEAD_PADDED)[None, :]
    half: tl.constexpr = HEAD_SIZE // 2
    if INTERLEAVED:
        partner = dim ^ 1
        angle = dim // 2
        first = dim % 2 == 0
    else:
        partner = tl.where(dim < half, dim + half, dim - half)
        angle = dim % half
        first = dim < half
    inside = (head < HEADS) & (dim < HEAD_SIZE)
    turned = inside & (head < TURNED)
    query_keys = query_key_ptr + token * query_key_stride + head * HEAD_SIZE
    values = value_ptr + token * value_stride + (head - TURNED) * HEAD_SIZE
    x = tl.load(query_keys + dim, mask=turned, other=0.0)
    x += tl.load(values + dim, mask=inside & (head >= TURNED), other=0.0)
    other = tl.load(query_keys + partner, mask=turned, other=0.0)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + head * HEAD_SIZE + dim, mask=inside, other=0.0)
        other += tl.load(bias_ptr + head * HEAD_SIZE + partner, mask=turned, other=0.0)
    angle_at = tl.load(positions_ptr + token) * half + angle
    cosine = tl.load(cosines_ptr + angle_at, mask=dim < HEAD_SIZE, other=1.0)
    sine = tl.load(sines_ptr + angle_at, mask=dim < HEAD_SIZE, other=0.0)
    rotated = x * cosine + tl.where(first, -other, other) * sine
    result = tl.where(head < TURNED, rotated, x)
    tl.store(
        heads_ptr + token * HEADS * HEAD_SIZE + head * HEAD_SIZE + dim, result.to(tl.float16), mask=inside
    )
