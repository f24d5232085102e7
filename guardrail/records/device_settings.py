"""What a GPU is and how it is set up; it stays while a machine runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """One GPU or MIG slice; None where the driver does not tell."""

    name: str
    """As nvidia-smi prints it; device profiles are found by it."""
    uuid: str
    index: int
    """NVML's, in the order of the PCI bus."""
    arch: str | None = None
    """``sm_90``."""
    memory_bytes: int | None = None
    max_sm_clock_mhz: int | None = None
    max_memory_clock_mhz: int | None = None
    default_power_limit_watts: float | None = None
    slowdown_celsius: int | None = None
    """Temperature at which the hardware begins to slow the clocks."""
    persistence: bool | None = None
    """Whether the driver stays loaded while nobody uses the GPU."""
    compute_mode: str | None = None
    """``default``, ``exclusive-process`` or ``prohibited``."""
    ecc: bool | None = None
    uncorrected_errors: int | None = None
    """Uncorrected memory errors since the driver was loaded."""
    remap_pending: bool | None = None
    """Whether broken rows of memory wait for a reset to be replaced."""
    mig: bool = False
    """Whether this is a slice of a GPU."""
    virtual: bool | None = None
    """Whether a hypervisor shares the GPU (vGPU)."""
    display: bool | None = None
    """Whether a display is drawn by it."""
    pcie_width: int | None = None
    max_pcie_width: int | None = None
