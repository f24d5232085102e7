"""Rotate keys and values, quantize them and write them to the cache."""

import triton
import triton.language as tl

from guardrail.kernels.int4_attention.hadamard import hadamard


@triton.jit
def round_to_level(x):
    """Round to the nearest of 0 to 15, half up.

    The format rounds half away from zero, then clamps: what that rounds differently lies below zero. Clamping
    first keeps the compiler from making one rounding of this sum and a product that gave x.
    """
    return (tl.minimum(tl.maximum(x, 0.0), 15.0) + 0.5).to(tl.int32)


@triton.jit
def quantize_row(even, odd, in_head):
    """Quantize one row to asymmetric 4-bit integers.

    scale = max((max - min) / 15, 1e-6); zero point = clamp(round(-min / scale), 0, 15), hidden in the low
    4 mantissa bits of the stored scale; q = clamp(round(x * (1 / scale) + zero point), 0, 15), with the scale
    as it was before the bits were taken.

    Two caches are equal to the byte only if their writers round alike. So this divides, multiplies and adds
    in the order of vLLM's writer and leaves to the compiler what that leaves to it: on a GPU these divisions
    are approximate, and the product and the zero point are summed up in one rounding.

    Args:
        even: Elements 0, 2, 4, ... in fp32, [half].
        odd: Elements 1, 3, 5, ... in fp32, [half].
        in_head: Whether the position belongs to the row, [half].

    Returns:
        Packed bytes (even element in the low nibble), uint8 [half], and the scale with its hidden zero point.
    """
    highest = tl.max(tl.where(in_head, tl.maximum(even, odd), float("-inf")), 0)
    lowest = tl.min(tl.where(in_head, tl.minimum(even, odd), float("inf")), 0)
    scale = tl.maximum((highest - lowest) / 15.0, 1.0e-6)
    zero_point = round_to_level(-lowest / scale)
    inverse = 1.0 / scale
    low = round_to_level(even * inverse + zero_point.to(tl.float32))
    high = round_to_level(odd * inverse + zero_point.to(tl.float32))
    bits = (scale.to(tl.int32, bitcast=True) & -16) | zero_point
    return (low | (high << 4)).to(tl.uint8), bits.to(tl.float32, bitcast=True)


@triton.jit
def rotate_row(even, odd, signs_ptr, half, HEAD_SIZE: tl.constexpr):
    """Rotate one row, and round it to the type that it came in.

    Args:
        even: Elements 0, 2, 4, ..., [half].
        odd: Elements 1, 3, 5, ..., [half].
        signs_ptr: As in `write_cache`.
        half: Positions, [half].
        HEAD_SIZE: Elements of the row.

    Returns:
        Even and odd elements, in the type that they came in.
    """
    BLOCK: tl.constexpr = HEAD_SIZE & -HEAD_SIZE
    at = signs_ptr + 2 * half % BLOCK
    flipped_even = even.to(tl.float32) * tl.load(at)
    flipped_odd = odd.to(tl.float32) * tl.load(at + 1)
    # The transform's first step makes even elements of the sums and odd ones of the differences.
    sums = tl.reshape(flipped_even + flipped_odd, [1, half.shape[0]])
    differences = tl.reshape(flipped_even - flipped_odd, [1, half.shape[0]])
    even_rotated = tl.reshape(hadamard(sums, BLOCK // 2), [half.shape[0]])
    odd_rotated = tl.reshape(hadamard(differences, BLOCK // 2), [half.shape[0]])
    return even_rotated.to(even.dtype), odd_rotated.to(odd.dtype)


@triton.jit
def write_cache(
    key_ptr,
    value_ptr,
    slots_ptr,
    signs_ptr,
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
        key_ptr: [tokens, KV heads, HEAD_SIZE].
        value_ptr: [tokens, KV heads, HEAD_SIZE].
        slots_ptr: Cache slot of each token, int64 [tokens]; a negative slot is skipped.
        signs_ptr: Signs of the rotation, fp32 [largest power of two that divides HEAD_SIZE]; None where keys
            and values are rotated already.
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
    key_even = tl.load(key_at, mask=in_head, other=0.0)
    key_odd = tl.load(key_at + 1, mask=in_head, other=0.0)
    if signs_ptr is not None:
        key_even, key_odd = rotate_row(key_even, key_odd, signs_ptr, half, HEAD_SIZE)
    key_packed, key_scale = quantize_row(key_even.to(tl.float32), key_odd.to(tl.float32), in_head)
    tl.store(key_bytes_ptr + bytes_at, key_packed, mask=in_head)
    tl.store(key_scale_ptr + scale_at, key_scale)

    value_at = value_ptr + token * value_stride_token + head * value_stride_head + 2 * half
    value_even = tl.load(value_at, mask=in_head, other=0.0)
    value_odd = tl.load(value_at + 1, mask=in_head, other=0.0)
    if signs_ptr is not None:
        value_even, value_odd = rotate_row(value_even, value_odd, signs_ptr, half, HEAD_SIZE)
    value_packed, value_scale = quantize_row(value_even.to(tl.float32), value_odd.to(tl.float32), in_head)
    tl.store(value_bytes_ptr + bytes_at, value_packed, mask=in_head)
    tl.store(value_scale_ptr + scale_at, value_scale)
