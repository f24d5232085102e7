"""The GPUs of this machine and how they are set up, by NVML."""

from collections.abc import Iterator
from typing import Any

import pynvml

from guardrail.adapters import nvml
from guardrail.adapters.device_state import memory_of
from guardrail.errors import MeasurementError
from guardrail.records.device_settings import DeviceSettings

_COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
"""NVML_COMPUTEMODE_* of ``nvml.h``."""


def all_gpus() -> tuple[DeviceSettings, ...]:
    """Describe every GPU of this machine, one in MIG mode by its slices; none without a driver."""
    try:
        nvml.start()
    except MeasurementError:
        return ()
    count = nvml.ask("nvmlDeviceGetCount") or 0
    return tuple(gpu for index in range(count) for gpu in _gpus_at(index))


def visible_gpus(gpus: tuple[DeviceSettings, ...], variable: str | None) -> tuple[DeviceSettings, ...]:
    """Pick the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order, as CUDA does: up to the first unknown.

    Args:
        gpus: All GPUs.
        variable: The variable's value; None where it is not set.
    """
    if variable is None:
        return gpus
    chosen: list[DeviceSettings] = []
    for name in map(str.strip, variable.split(",")):
        found = [
            gpu
            for gpu in gpus
            if (name.isdigit() and gpu.index == int(name))
            or (name.startswith(("GPU-", "MIG-")) and gpu.uuid.startswith(name))
        ]
        if not found:
            break
        chosen += found
    return tuple(chosen)


def set_up(uuid: str) -> dict[str, str]:
    """Write how a GPU is set up, as far as the driver tells: ``{"power limit": "700 W", "ECC": "on"}``.

    Args:
        uuid: As NVML spells it.
    """
    gpu = next((gpu for gpu in all_gpus() if gpu.uuid == uuid), None)
    if gpu is None:
        return {}
    limit = nvml.ask("nvmlDeviceGetEnforcedPowerLimit", nvml.whole_gpu(nvml.find(uuid)))
    known = {
        "power limit": None if limit is None else f"{limit / 1000:.0f} W",
        "max SM clock": None if gpu.max_sm_clock_mhz is None else f"{gpu.max_sm_clock_mhz} MHz",
        "max memory clock": None if gpu.max_memory_clock_mhz is None else f"{gpu.max_memory_clock_mhz} MHz",
        "persistence": _switch(gpu.persistence),
        "ECC": _switch(gpu.ecc),
        "compute mode": gpu.compute_mode,
    }
    return {name: value for name, value in known.items() if value is not None}


def _gpus_at(index: int) -> Iterator[DeviceSettings]:
    gpu = nvml.ask("nvmlDeviceGetHandleByIndex", index)
    if gpu is None:
        return
    slices = list(_slices(gpu))
    for handle in slices or [gpu]:
        yield _settings(index, gpu, handle, mig=bool(slices))


def _slices(gpu: Any) -> Iterator[Any]:
    for position in range(nvml.ask("nvmlDeviceGetMaxMigDeviceCount", gpu) or 0):
        handle = nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", gpu, position)
        if handle is not None:
            yield handle


def _settings(index: int, gpu: Any, handle: Any, mig: bool) -> DeviceSettings:
    capability = nvml.ask("nvmlDeviceGetCudaComputeCapability", gpu)
    memory = memory_of(handle)
    limit = nvml.ask("nvmlDeviceGetPowerManagementDefaultLimit", gpu)
    ecc = nvml.ask("nvmlDeviceGetEccMode", gpu)
    remapped = nvml.ask("nvmlDeviceGetRemappedRows", gpu)
    virtualization = nvml.ask("nvmlDeviceGetVirtualizationMode", gpu)
    return DeviceSettings(
        name=str(nvml.ask("nvmlDeviceGetName", handle) or nvml.ask("nvmlDeviceGetName", gpu)),
        uuid=str(nvml.ask("nvmlDeviceGetUUID", handle)),
        index=index,
        arch=None if capability is None else f"sm_{capability[0]}{capability[1]}",
        memory_bytes=None if memory is None else memory.total,
        max_sm_clock_mhz=nvml.ask("nvmlDeviceGetMaxClockInfo", gpu, pynvml.NVML_CLOCK_SM),
        max_memory_clock_mhz=nvml.ask("nvmlDeviceGetMaxClockInfo", gpu, pynvml.NVML_CLOCK_MEM),
        default_power_limit_watts=None if limit is None else limit / 1000,
        slowdown_celsius=nvml.ask(
            "nvmlDeviceGetTemperatureThreshold", gpu, pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
        ),
        persistence=_flag(nvml.ask("nvmlDeviceGetPersistenceMode", gpu)),
        compute_mode=_COMPUTE_MODES.get(nvml.ask("nvmlDeviceGetComputeMode", gpu)),
        ecc=None if ecc is None else bool(ecc[0]),
        uncorrected_errors=nvml.ask(
            "nvmlDeviceGetTotalEccErrors",
            gpu,
            pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            pynvml.NVML_VOLATILE_ECC,
        ),
        remap_pending=None if remapped is None else bool(remapped[2]),
        mig=mig,
        virtual=None
        if virtualization is None
        else virtualization == pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU,
        display=_flag(nvml.ask("nvmlDeviceGetDisplayActive", gpu)),
        pcie_width=nvml.ask("nvmlDeviceGetCurrPcieLinkWidth", gpu),
        max_pcie_width=nvml.ask("nvmlDeviceGetMaxPcieLinkWidth", gpu),
    )


def _flag(answer: int | None) -> bool | None:
    return None if answer is None else bool(answer)


def _switch(value: bool | None) -> str | None:
    return None if value is None else ("on" if value else "off")
