"""How many blocks of a kernel one SM can hold at once, and what stops it from holding more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from guardrail.compiled.architectures import WARP_SIZE, SmLimits

Limiter: TypeAlias = Literal["registers", "warps", "shared memory", "blocks"]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The blocks that fit on one SM."""

    blocks_per_sm: int
    """0 where the kernel cannot be launched at all."""
    blocks_by: Mapping[Limiter, int]
    """How many blocks each resource alone would allow."""
    theoretical: float
    """Resident warps over the warps that the SM has room for, 0 to 1."""

    @property
    def limiters(self) -> tuple[Limiter, ...]:
        """List every resource that has no room for another block."""
        return tuple(name for name, blocks in self.blocks_by.items() if blocks == self.blocks_per_sm)

    @property
    def limited_by(self) -> str:
        """Name them: ``registers, shared memory``."""
        return ", ".join(self.limiters)


def occupancy(limits: SmLimits, *, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """Compute the resident blocks per SM.

    The rules are those of NVIDIA's occupancy calculator (``cuda_occupancy.h``,
    ``cudaOccMaxActiveBlocksPerMultiprocessor``), for the largest shared-memory carve-out and a kernel that
    has opted in to all the shared memory it asks for.

    Args:
        limits: What the SM offers.
        threads: Threads of one block.
        registers: Registers of one thread.
        shared_bytes: Static and dynamic shared memory of one block, without the driver's reservation.

    Returns:
        The smallest of the four limits.
    """
    warps = -(-threads // WARP_SIZE)
    blocks_by: dict[Limiter, int] = {
        "registers": _blocks_by_registers(limits, warps, registers),
        "warps": limits.warps_per_sm // warps if threads <= limits.threads_per_block else 0,
        "shared memory": _blocks_by_shared_memory(limits, shared_bytes),
        "blocks": limits.blocks_per_sm,
    }
    blocks = min(blocks_by.values())
    return Occupancy(blocks, blocks_by, blocks * warps / limits.warps_per_sm)


def _blocks_by_registers(limits: SmLimits, warps: int, registers: int) -> int:
    if registers > limits.registers_per_thread:
        return 0
    warp_registers = _round_up(registers * WARP_SIZE, limits.register_allocation_unit)
    if warp_registers == 0:
        return limits.blocks_per_sm
    # The launch check counts a block as if it filled every sub-partition evenly.
    if warp_registers * _round_up(warps, limits.sub_partitions) > limits.registers_per_block:
        return 0
    warps_per_partition = limits.registers_per_sm // limits.sub_partitions // warp_registers
    return warps_per_partition * limits.sub_partitions // warps


def _blocks_by_shared_memory(limits: SmLimits, shared_bytes: int) -> int:
    reserved = limits.reserved_shared_per_block
    allocated = _round_up(shared_bytes + reserved, limits.shared_allocation_unit)
    if allocated > limits.shared_per_block + reserved:
        return 0
    return limits.shared_per_sm // allocated if allocated else limits.blocks_per_sm


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
