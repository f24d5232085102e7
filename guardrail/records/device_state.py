"""The state of a GPU at one moment, as its driver reports it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that holds a compute context on the GPU."""

    pid: int
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceState:
    """What can spoil a measurement; None where the driver does not tell."""

    seconds: float
    """Monotonic clock of the sample."""
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    power_watts: float | None = None
    power_limit_watts: float | None = None
    temperature_celsius: int | None = None
    clock_event_reasons: tuple[str, ...] = ()
    """Decoded reasons why the clocks are where they are: ``sw-power-cap``, ``hw-thermal-slowdown``."""
    processes: tuple[GpuProcess, ...] | None = None
    """Every compute process on the GPU, the measuring one included."""
    memory_used_bytes: int | None = None
    utilization_percent: int | None = None
    load_average: float | None = None
    """One-minute load average of the host."""
    processors: int | None = None
    """Processors of the host, which its load is measured against."""
