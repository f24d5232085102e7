"""What one streaming multiprocessor (SM) of each NVIDIA architecture offers.

Sources: CUDA Programming Guide, appendix "Compute Capabilities", tables "Device and Streaming Multiprocessor
Information" and "Memory Information per Compute Capability" (warps, blocks, registers, shared memory);
``cuda_occupancy.h`` of CUDA 13.0 (allocation units, sub-partitions, the driver's reservation).
"""

import re
from dataclasses import dataclass
from functools import cache

from guardrail.errors import UsageError

KIB = 1024
WARP_SIZE = 32


@dataclass(frozen=True, slots=True)
class SmLimits:
    """Capacities and allocation units of one SM; sizes in bytes, registers of 32 bits."""

    warps_per_sm: int
    blocks_per_sm: int
    shared_per_sm: int
    shared_per_block: int
    """Most shared memory of a block that opts in to more than 48 KiB."""
    reserved_shared_per_block: int = KIB
    """Taken by the driver from every block."""
    shared_allocation_unit: int = 128
    registers_per_sm: int = 65536
    registers_per_block: int = 65536
    registers_per_thread: int = 255
    register_allocation_unit: int = 256
    """Registers are given to a warp in multiples of this."""
    sub_partitions: int = 4
    """Parts of an SM that own an equal share of its registers."""
    threads_per_block: int = 1024


_TURING = SmLimits(32, 16, 64 * KIB, 64 * KIB, reserved_shared_per_block=0, shared_allocation_unit=256)
_DATACENTER = SmLimits(64, 32, 228 * KIB, 227 * KIB)
_BLACKWELL_GEFORCE = SmLimits(48, 24, 100 * KIB, 99 * KIB)

ARCHITECTURES = {
    "sm_75": _TURING,
    "sm_80": SmLimits(64, 32, 164 * KIB, 163 * KIB),
    "sm_86": SmLimits(48, 16, 100 * KIB, 99 * KIB),
    "sm_87": SmLimits(48, 16, 164 * KIB, 163 * KIB),
    "sm_89": SmLimits(48, 24, 100 * KIB, 99 * KIB),
    "sm_90": _DATACENTER,
    "sm_100": _DATACENTER,
    "sm_103": _DATACENTER,
    "sm_110": SmLimits(48, 24, 228 * KIB, 227 * KIB),
    "sm_120": _BLACKWELL_GEFORCE,
    "sm_121": _BLACKWELL_GEFORCE,
}

_ARCH = re.compile(r"(sm_(\d+))[af]?")


@cache
def base_arch(arch: str) -> str:
    """Drop the suffix of a feature set: ``sm_90a`` and ``sm_120f`` have ``sm_90`` and ``sm_120`` SMs."""
    match = _ARCH.fullmatch(arch)
    return match[1] if match else arch


def find_limits(arch: str) -> SmLimits | None:
    """Look up an architecture's limits; None where they are not known."""
    return ARCHITECTURES.get(base_arch(arch))


def require_arch(arch: str) -> str:
    """Check that an architecture is known.

    Args:
        arch: Its name, with or without a feature-set suffix: ``sm_90``, ``sm_90a``.

    Returns:
        The same name.

    Raises:
        UsageError: The name is not one of the table.
    """
    if find_limits(arch) is None:
        raise UsageError(f"unknown architecture {arch!r}; expected one of {', '.join(ARCHITECTURES)}")
    return arch


def compute_capability(arch: str) -> int:
    """Give the number in an architecture's name: 90 for ``sm_90a``.

    Raises:
        UsageError: The architecture is not known.
    """
    return int(base_arch(require_arch(arch)).removeprefix("sm_"))
