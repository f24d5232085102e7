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
    count: tl.constexpr = values.shape[0] // GROUP_ELEMENTS
    rows = tl.reshape(values, [count, GROUP_ELEMENTS])
    group = first + tl.arange(0, count)
    inside = group < groups
    scale = tl.div_rn(tl.max(tl.abs(rows), 1), tl.full([count], LARGEST_VALUE, tl.float32)).to(tl.float16)
    # A maximum skips NaN, so it is looked for by itself; hidden by the scale, it would never reach a product.
    scale = tl.where(tl.max((rows != rows).to(tl.int32), 1) > 0, float("nan"), scale)
    factor = scale.to(tl.float32)[:, None]
    usable = (factor > 0.0) & (factor < float("inf"))
    divisor = tl.broadcast_to(tl.where(usable, factor, 1.0), [count, GROUP_ELEMENTS])
    quotient = tl.div_rn(tl.where(usable, rows, 0.0), divisor)
    # A scale that underflowed can leave quotients of any size, so they are limited before they are rounded.
    quotient = tl.minimum(tl.maximum(quotient, -LARGEST_VALUE), LARGEST_VALUE)
    rounded = ((quotient + ROUNDER) - ROUNDER).to(tl.int32)
    base = groups_ptr + group.to(tl.int64) * GROUP_BYTES
    tl.store(base.to(tl.pointer_type(tl.int32)), scale.to(tl.uint16, bitcast=True).to(tl.int32), mask=inside)
    at = base[:, None] + GROUP_VALUES_OFFSET + tl.arange(0, GROUP_ELEMENTS)[None, :]
    tl.store(at.to(tl.pointer_type(tl.int8)), rounded.to(tl.int8), mask=inside[:, None])
    total = (base + GROUP_SUM_OFFSET).to(tl.pointer_type(tl.int32))
    tl.store(total, tl.sum(rounded, 1), mask=inside)
