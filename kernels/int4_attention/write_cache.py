"""Quantize rotated keys and values and write them to the cache."""

import triton
import triton.language as tl


@triton.jit
def quantize_row(even, odd, in_head):
    """Quantize one row to asymmetric 4-bit integers.

    scale = max((max - min) / 15, 1e-6); zero point = clamp(round(-min / scale), 0, 15), hidden in the low
    4 mantissa bits of the stored scale; q = clamp(round(x / scale + zero point), 0, 15), rounded with the
    scale as it was before the bits were taken.

    Args:
        even: Elements 0, 2, 4, ... in fp32, [half].
        odd: Elements 1, 3, 5, ... in fp32, [half].
        in_head: Whether the position belongs to the row, [half].

    Returns:
        Packed bytes (even element in the low nibble), uint8 [half], and the scale with its hidden zero point.
    """
    highest = tl.max(tl.where(in_head, tl.maximum(even, odd), float("-inf")), 0)
    lowest = tl.min(tl.where(in_head, tl.minimum(even, odd), float("inf")), 0)
    scale = tl.maximum(tl.div_rn(highest - lowest, 15.0), 1.0e-6)
    # Half away from zero is half up here: what rounds differently below zero is clamped to zero anyway.
    zero_point = tl.minimum(tl.maximum(tl.floor(tl.div_rn(-lowest, scale) + 0.5), 0.0), 15.0)
    low = tl.minimum(tl.maximum(tl.floor(tl.div_rn(even, scale) + zero_point + 0.5), 0.0), 15.0)
    high = tl.minimum(tl.maximum(tl.floor(tl.div_rn(odd, scale) + zero_point + 0.5), 0.0), 15.0)
    packed = low.to(tl.int32) | (high.to(tl.int32) << 4)
    bits = (scale.to(tl.int32, bitcast=True) & -16) | zero_point.to(tl.int32)
    return packed.to(tl.uint8), bits.to(tl.float32, bitcast=True)


@triton.jit
def write_cache(
    key_ptr,
    value_ptr,
    slots_ptr,
    key_bytes_ptr,
    key_scale_ptr,
    value_bytes_ptr,
    value_scale_ptr,
    key_stride_token,
    key_stride_head,
    value_stride_token,
    value_stride_head,
    stride_block,
    stride_head,
    stride_slot,
    scale_stride_block,
    scale_stride_head,
    scale_stride_slot,
    HEAD_SIZE: tl.constexpr,
    HALF_PADDED: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """Write one token's key and value of one head; grid (tokens, KV heads).

    Shapes and units:
        key_ptr: Rotated keys, [tokens, KV heads, HEAD_SIZE].
        value_ptr: Rotated values, [tokens, KV heads, HEAD_SIZE].
        slots_ptr: Cache slot of each token, int64 [tokens]; a negative slot is skipped.
        key_bytes_ptr: uint8 [blocks, KV heads, BLOCK_SIZE, HEAD_SIZE / 2].
        key_scale_ptr: fp32 [blocks, KV heads, BLOCK_SIZE].
        value_bytes_ptr: Strides as the key bytes.
        value_scale_ptr: Strides as the key scales.
        HALF_PADDED: Half of HEAD_SIZE, padded to a power of two.
    """
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    slot = tl.load(slots_ptr + token)
    if slot < 0:
        return
    block = slot // BLOCK_SIZE
    offset = slot % BLOCK_SIZE
    half = tl.arange(0, HALF_PADDED)
    in_head = half < HEAD_SIZE // 2
    bytes_at = block * stride_block + head * stride_head + offset * stride_slot + half
    scale_at = block * scale_stride_block + head * scale_stride_head + offset * scale_stride_slot

    key_at = key_ptr + token * key_stride_token + head * key_stride_head + 2 * half
    key_even = tl.load(key_at, mask=in_head, other=0.0).to(tl.float32)
    key_odd = tl.load(key_at + 1, mask=in_head, other=0.0).to(tl.float32)
    key_packed, key_scale = quantize_row(key_even, key_odd, in_head)
    tl.store(key_bytes_ptr + bytes_at, key_packed, mask=in_head)
    tl.store(key_scale_ptr + scale_at, key_scale)

    value_at = value_ptr + token * value_stride_token + head * value_stride_head + 2 * half
    value_even = tl.load(value_at, mask=in_head, other=0.0).to(tl.float32)
    value_odd = tl.load(value_at + 1, mask=in_head, other=0.0).to(tl.float32)
    value_packed, value_scale = quantize_row(value_even, value_odd, in_head)
    tl.store(value_bytes_ptr + bytes_at, value_packed, mask=in_head)
    tl.store(value_scale_ptr + scale_at, value_scale)
