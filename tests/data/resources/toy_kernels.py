"""Small Triton kernels that the tests compile."""

import triton
import triton.language as tl


@triton.jit
def scale(values, count, factor, BLOCK: tl.constexpr):  # noqa: N803
    """Multiply `count` values by `factor`."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    loaded = tl.load(values + offsets, offsets < count)
    tl.store(values + offsets, loaded * factor, offsets < count)


@triton.jit
def centre(values, BLOCK: tl.constexpr):  # noqa: N803
    """Subtract the sum of all values, each of which stays in a register until the sum is known."""
    loaded = tl.load(values + tl.arange(0, BLOCK))
    tl.store(values + tl.arange(0, BLOCK), loaded - tl.sum(loaded))


@triton.jit
def broken(values, BLOCK: tl.constexpr):  # noqa: N803
    """Use a name that does not exist."""
    tl.store(values + tl.arange(0, BLOCK), undefined_name)  # noqa: F821
