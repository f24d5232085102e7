"""The arithmetic of the q8 activation format, for every Triton kernel that writes it."""

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


@triton.jit
def store_groups(groups_ptr, values, first, groups):
    """Store values as q8 groups: ``d = amax / 127`` in float16, ``q = clamp(rint(x / d))``.

    Computed in float32 with divisions that are correctly rounded, so that the bytes are those of
    `guardrail.kernels.kquants.activations.quantize`. A group with a NaN has a NaN for its scale, and one
    beyond float16 has infinity; its values are 0.

    Args:
        groups_ptr: uint8 [groups, 40].
        values: fp32 [elements], a power of two from 32 on.
        first: Group that the first element belongs to.
        groups: Groups there are; those behind are not written.
    """
    rows = tl.reshape(values, [values.shape[0] // GROUP_ELEMENTS, GROUP_ELEMENTS])
    scale = _scales(rows).to(tl.float16)
    _store(groups_ptr, rows, scale.to(tl.float32), scale, first, groups)


@triton.jit
def store_multiplied_groups(groups_ptr, values, factor, first, groups):
    """Store values times a positive number as q8 groups whose integers do not hang on that number.

    ``d = amax / 127`` in float32, ``q = clamp(rint(x / d))``, and d times the number is stored, in float16.
    Values can so be quantized before the number is known: see `guardrail.kernels.kquants.residual_stream`.

    Args:
        groups_ptr: As in `store_groups`.
        values: As there.
        factor: fp32.
        first: As there.
        groups: As there.
    """
    rows = tl.reshape(values, [values.shape[0] // GROUP_ELEMENTS, GROUP_ELEMENTS])
    scale = _scales(rows)
    _store(groups_ptr, rows, scale, (scale * factor).to(tl.float16), first, groups)


@triton.jit
def _scales(rows):
    largest = tl.max(tl.abs(rows), 1)
    scale = tl.div_rn(largest, tl.full(largest.shape, LARGEST_VALUE, tl.float32))
    # A maximum skips NaN, so it is looked for by itself; hidden by the scale, it would never reach a product.
    return tl.where(tl.max((rows != rows).to(tl.int32), 1) > 0, float("nan"), scale)


@triton.jit
def _store(groups_ptr, rows, divisor, scale, first, groups):
    count: tl.constexpr = rows.shape[0]
    group = first + tl.arange(0, count)
    inside = group < groups
    usable = ((divisor > 0.0) & (divisor < float("inf")))[:, None]
    divisors = tl.broadcast_to(tl.where(usable, divisor[:, None], 1.0), [count, GROUP_ELEMENTS])
    quotient = tl.div_rn(tl.where(usable, rows, 0.0), divisors)
    # A scale that underflowed can leave quotients of any size, so they are limited before they are rounded.
    quotient = tl.minimum(tl.maximum(quotient, -LARGEST_VALUE), LARGEST_VALUE)
    rounded = ((quotient + ROUNDER) - ROUNDER).to(tl.int32)
    base = groups_ptr + group.to(tl.int64) * GROUP_BYTES
    tl.store(base.to(tl.pointer_type(tl.int32)), scale.to(tl.uint16, bitcast=True).to(tl.int32), mask=inside)
    at = base[:, None] + GROUP_VALUES_OFFSET + tl.arange(0, GROUP_ELEMENTS)[None, :]
    tl.store(at.to(tl.pointer_type(tl.int8)), rounded.to(tl.int8), mask=inside[:, None])
    total = (base + GROUP_SUM_OFFSET).to(tl.pointer_type(tl.int32))
    tl.store(total, tl.sum(rounded, 1), mask=inside)
