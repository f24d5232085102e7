"""The record of what one compiled kernel asks of a GPU."""

from dataclasses import dataclass, replace

from guardrail.compiled.architectures import find_limits
from guardrail.compiled.occupancy import Occupancy, occupancy


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What one instance of a kernel takes; sizes in bytes, None where it is not known.

    Stack is not spill: a stack frame may hold local arrays. Spills are known only from the log of the
    compilation that made the binary. Threads and dynamic shared memory are chosen at launch and are in
    no binary.
    """

    name: str
    """Demangled where a C++ runtime is at hand."""
    arch: str
    registers: int
    """32-bit registers of one thread."""
    stack_bytes: int
    """Stack frame of one thread."""
    static_shared_bytes: int
    """Declared by the kernel, without what the driver reserves."""
    toolchain: str
    """What compiled the kernel, or what read it where it came compiled."""
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    dynamic_shared_bytes: int | None = None
    threads: int | None = None
    """Threads of one block."""
    symbol: str = ""
    """Mangled name; empty where the kernel was read from a report."""

    @property
    def shared_bytes(self) -> int:
        """Add up the shared memory of one block as far as it is known."""
        return self.static_shared_bytes + (self.dynamic_shared_bytes or 0)

    @property
    def spill_bytes(self) -> int | None:
        """Add up the bytes of spill stores and loads."""
        if self.spill_store_bytes is None or self.spill_load_bytes is None:
            return None
        return self.spill_store_bytes + self.spill_load_bytes

    @property
    def occupancy(self) -> Occupancy | None:
        """Compute the blocks per SM; None where launch size or architecture are not known."""
        if self.threads is None or self.dynamic_shared_bytes is None:
            return None
        limits = find_limits(self.arch)
        if limits is None:
            return None
        return occupancy(
            limits, threads=self.threads, registers=self.registers, shared_bytes=self.shared_bytes
        )

    @property
    def blocks_per_sm(self) -> int | None:
        """Name the resident blocks per SM."""
        found = self.occupancy
        return None if found is None else found.blocks_per_sm

    @property
    def limited_by(self) -> str | None:
        """Name every resource that has no room for another block."""
        found = self.occupancy
        return None if found is None else found.limited_by

    @property
    def theoretical_occupancy(self) -> float | None:
        """Give resident warps over the warps an SM has room for, 0 to 1."""
        found = self.occupancy
        return None if found is None else found.theoretical

    def launched_with(self, threads: int, dynamic_shared_bytes: int) -> "KernelResources":
        """Add what is chosen at launch."""
        return replace(self, threads=threads, dynamic_shared_bytes=dynamic_shared_bytes)
