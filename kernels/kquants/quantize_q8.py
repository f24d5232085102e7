"""Quantization of activations to the q8 format."""

import triton
import triton.language as tl

from guardrail.kernels.kquants import geometry

GROUP_ELEMENTS = tl.constexpr(geometry.GROUP_ELEMENTS)
GROUP_BYTES = tl.constexpr(geometry.GROUP_BYTES)
GROUP_VALUES_OFFSET = tl.constexpr(geometry.GROUP_VALUES_OFFSET)
GROUP_SUM_OFFSET = tl.constexpr(geometry.GROUP_SUM_OFFSET)
LARGEST_VALUE = tl.constexpr(float(geometry.LARGEST_VALUE))
ROUNDER = tl.constexpr(float(3 << 22))
"""Added to a float32 below 2**22 in magnitude and taken away again, it rounds to an integer, half to even."""


@triton.jit(do_not_specialize=["count"])
def quantize_q8(vector, groups, count, GROUPS: tl.constexpr):
    """Quantize groups of 32 numbers: ``d = amax / 127`` in float16, ``q = clamp(rint(x / d))``.

    Computed in float32 with divisions that are correctly rounded, so that the bytes are those of any other
    implementation that does the same. A group with a NaN has a NaN for its scale, and one beyond float16 has
    infinity; its values are 0.

    Args:
        vector: [count * 32] float16, bfloat16 or float32.
        groups: [count, 40] bytes, written.
        count: Groups.
        GROUPS: Groups that a program quantizes, a power of two.
    """
    group = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    inside = group < count
    element = tl.arange(0, GROUP_ELEMENTS)[None, :]
    address = vector + (group.to(tl.int64) * GROUP_ELEMENTS)[:, None] + element
    value = tl.load(address, mask=inside[:, None], other=0.0).to(tl.float32)

    largest = tl.max(tl.abs(value), axis=1)
    scale = tl.div_rn(largest, tl.full((GROUPS,), LARGEST_VALUE, tl.float32)).to(tl.float16)
    factor = scale.to(tl.float32)
    # A maximum skips NaN, so it is looked for by itself.
    broken = tl.max((value != value).to(tl.int32), axis=1) > 0
    usable = (factor > 0) & (factor < float("inf")) & (broken == 0)
    divisor = tl.where(usable, factor, 1.0)[:, None].broadcast_to((GROUPS, GROUP_ELEMENTS))
    quotient = tl.div_rn(tl.where(usable[:, None], value, 0.0), divisor)
    # A scale that underflowed can leave quotients of any size, so they are limited before they are rounded.
    quotient = tl.minimum(tl.maximum(quotient, -LARGEST_VALUE), LARGEST_VALUE)
    quantized = ((quotient + ROUNDER) - ROUNDER).to(tl.int32)
    scale = tl.where(broken, float("nan"), scale)

    first = groups + group.to(tl.int64) * GROUP_BYTES
    words = first.to(tl.pointer_type(tl.int32))
    scale_word = scale.to(tl.uint16, bitcast=True).to(tl.int32)
    tl.store(words, scale_word, mask=inside)
    values = (first[:, None] + GROUP_VALUES_OFFSET + element).to(tl.pointer_type(tl.int8))
    tl.store(values, quantized.to(tl.int8), mask=inside[:, None])
    total = tl.sum(quantized, axis=1)
    tl.store((first + GROUP_SUM_OFFSET).to(tl.pointer_type(tl.int32)), total, mask=inside)
