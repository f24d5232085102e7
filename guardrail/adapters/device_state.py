"""Samples of a GPU's clocks, power, heat and tenants, by NVML."""

import os
import time
from typing import Any

import pynvml

from guardrail.adapters import nvml
from guardrail.records.device_state import DeviceState, GpuProcess

_REASONS = {
    0x001: "gpu-idle",
    0x002: "applications-clocks-setting",
    0x004: "sw-power-cap",
    0x008: "hw-slowdown",
    0x010: "sync-boost",
    0x020: "sw-thermal-slowdown",
    0x040: "hw-thermal-slowdown",
    0x080: "hw-power-brake",
    0x100: "display-clock-setting",
    0x200: "board-limit",
    0x400: "reliability",
}
"""Bits of NVML's clock event reasons (``nvml.h``: nvmlClocksEventReason*, once nvmlClocksThrottleReason*)."""


def sample(uuid: str) -> DeviceState:
    """Read the state of one GPU and the load of its host.

    A MIG slice has memory and processes of its own; its clocks, power and temperature are its GPU's.

    Args:
        uuid: As NVML spells it: ``GPU-...`` or ``MIG-...``.

    Raises:
        MeasurementError: There is no driver, or no such GPU.
    """
    handle = nvml.find(uuid)
    gpu = nvml.whole_gpu(handle)
    power = nvml.ask("nvmlDeviceGetPowerUsage", gpu)
    limit = nvml.ask("nvmlDeviceGetEnforcedPowerLimit", gpu)
    memory = memory_of(handle)
    utilization = nvml.ask("nvmlDeviceGetUtilizationRates", handle)
    return DeviceState(
        seconds=time.monotonic(),
        sm_clock_mhz=nvml.ask("nvmlDeviceGetClockInfo", gpu, pynvml.NVML_CLOCK_SM),
        memory_clock_mhz=nvml.ask("nvmlDeviceGetClockInfo", gpu, pynvml.NVML_CLOCK_MEM),
        power_watts=None if power is None else power / 1000,
        power_limit_watts=None if limit is None else limit / 1000,
        temperature_celsius=nvml.ask("nvmlDeviceGetTemperature", gpu, pynvml.NVML_TEMPERATURE_GPU),
        clock_event_reasons=_reasons(gpu),
        processes=_processes(handle),
        memory_used_bytes=None if memory is None else memory.used,
        utilization_percent=None if utilization is None else utilization.gpu,
        load_average=os.getloadavg()[0],
        processors=os.cpu_count(),
    )


def decode_reasons(mask: int) -> tuple[str, ...]:
    """Name the bits of a mask of clock event reasons; an unknown bit is named by its value."""
    known = [name for bit, name in _REASONS.items() if mask & bit]
    unknown = mask & ~sum(_REASONS)
    return (*known, f"unknown-{unknown:#x}") if unknown else tuple(known)


def memory_of(handle: Any) -> Any:
    """Read the memory of a GPU, what the driver keeps for itself apart from what is in use."""
    return nvml.ask("nvmlDeviceGetMemoryInfo", handle, pynvml.nvmlMemory_v2)


def _reasons(gpu: Any) -> tuple[str, ...]:
    mask = nvml.ask("nvmlDeviceGetCurrentClocksEventReasons", gpu)
    if mask is None:  # its name before driver 535
        mask = nvml.ask("nvmlDeviceGetCurrentClocksThrottleReasons", gpu)
    return () if mask is None else decode_reasons(mask)


def _processes(handle: Any) -> tuple[GpuProcess, ...] | None:
    found = nvml.ask("nvmlDeviceGetComputeRunningProcesses_v3", handle)
    if found is None:  # its version before driver 510
        found = nvml.ask("nvmlDeviceGetComputeRunningProcesses_v2", handle)
    if found is None:
        return None
    return tuple(
        GpuProcess(entry.pid, entry.usedGpuMemory) for entry in sorted(found, key=lambda entry: entry.pid)
    )
