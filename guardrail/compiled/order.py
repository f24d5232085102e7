"""Which kernel to look at first."""

from collections.abc import Iterable

from guardrail.compiled.resources import KernelResources

_UNKNOWN_BLOCKS = 1 << 16
"""More than any SM holds: a kernel is not called bad for what is not known."""


def worst_first(kernels: Iterable[KernelResources]) -> list[KernelResources]:
    """Sort by spills, then stack, then fewest blocks per SM, then registers and shared memory."""
    return sorted(kernels, key=badness)


def badness(kernel: KernelResources) -> tuple[int, int, int, int, int, str, str]:
    """Give the sort key of `worst_first`."""
    blocks = kernel.blocks_per_sm
    return (
        -(kernel.spill_bytes or 0),
        -kernel.stack_bytes,
        _UNKNOWN_BLOCKS if blocks is None else blocks,
        -kernel.registers,
        -kernel.shared_bytes,
        kernel.name,
        kernel.arch,
    )
