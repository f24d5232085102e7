"""Quantization of activations to the q8 format."""

import triton
import triton.language as tl

from guardrail.kernels.kquants.q8_groups import GROUP_ELEMENTS, store_groups


@triton.jit(do_not_specialize=["count"])
def quantize_q8(vector, groups, count, GROUPS: tl.constexpr):
    """Quantize groups of 32 numbers, as `store_groups` does.

    Args:
        vector: [count * 32] float16, bfloat16 or float32.
        groups: [count, 40] bytes, written.
        count: Groups.
        GROUPS: Groups that a program quantizes, a power of two.
    """
    first = tl.program_id(0) * GROUPS
    # Counted from the program's first group: elements of all groups could be more than 32 bits count.
    element = tl.arange(0, GROUPS * GROUP_ELEMENTS)
    inside = first + element // GROUP_ELEMENTS < count
    value = tl.load(vector + first.to(tl.int64) * GROUP_ELEMENTS + element, mask=inside, other=0.0)
    store_groups(groups, value.to(tl.float32), first, count)
