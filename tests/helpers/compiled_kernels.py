"""Records of compiled kernels for the tests."""

from typing import Any

from guardrail.compiled.resources import KernelResources


def kernel(name: str = "scale", **changes: Any) -> KernelResources:
    """Make the record of a kernel whose launch size and spills are known."""
    fields: dict[str, Any] = {
        "name": name,
        "arch": "sm_90",
        "registers": 32,
        "stack_bytes": 0,
        "static_shared_bytes": 0,
        "toolchain": "nvcc 13.0.88",
        "spill_store_bytes": 0,
        "spill_load_bytes": 0,
        "dynamic_shared_bytes": 0,
        "threads": 256,
    }
    return KernelResources(**(fields | changes))


def foreign_kernel(name: str = "scale", **changes: Any) -> KernelResources:
    """Make the record of a kernel that was read from a binary."""
    unknown = dict.fromkeys(("spill_store_bytes", "spill_load_bytes", "dynamic_shared_bytes", "threads"))
    return kernel(name, **({"toolchain": "cuobjdump 13.5.37"} | unknown | changes))
