"""A stand-in for the NVML bindings that answers as recorded cards do."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pynvml

GIB = 1 << 30

Answers = Mapping[str, Any]


class FakeNvml:
    """Answers each NVML function with a recorded value.

    A function without one raises what NVML does where a card does not support it; one named in `lacking` is
    not there at all, as in older bindings.

    Args:
        answers: Values by function; a callable is called with the arguments.
        lacking: Names that the bindings do not have.
    """

    NVMLError = pynvml.NVMLError

    def __init__(self, answers: Answers, lacking: tuple[str, ...] = ()) -> None:
        self._answers = answers
        self._lacking = lacking
        self.starts = 0

    def nvmlInit(self) -> None:  # noqa: N802 - the name of the bindings
        """Count how often the library is loaded."""
        if "nvmlInit" in self._answers:
            raise self._answers["nvmlInit"]
        self.starts += 1

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in self._lacking or not name.startswith("nvml"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            if name not in self._answers:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            answer = self._answers[name]
            return answer(*arguments) if callable(answer) else answer

        return call


def process(pid: int, memory: int | None) -> SimpleNamespace:
    """A process as NVML lists it."""
    return SimpleNamespace(pid=pid, usedGpuMemory=memory)


def by_clock(sm: int, memory: int) -> Callable[[Any, int], int]:
    """Answer for the SM clock and the memory clock."""
    clocks = {pynvml.NVML_CLOCK_SM: sm, pynvml.NVML_CLOCK_MEM: memory}
    return lambda _handle, clock: clocks[clock]


_ONE_GPU: Answers = {
    "nvmlDeviceGetCount": 1,
    "nvmlDeviceGetHandleByIndex": lambda index: f"gpu{index}",
    "nvmlDeviceGetHandleByUUID": "gpu0",
    "nvmlSystemGetDriverVersion": "580.159.04",
    "nvmlSystemGetCudaDriverVersion_v2": 13000,
}

H200: Answers = {
    **_ONE_GPU,
    "nvmlDeviceGetName": "NVIDIA H200",
    "nvmlDeviceGetUUID": "GPU-3f5a0c11-9d5e-4a53-8f0e-6f1f0f3f8a01",
    "nvmlDeviceGetCudaComputeCapability": (9, 0),
    "nvmlDeviceGetClockInfo": by_clock(1980, 3201),
    "nvmlDeviceGetMaxClockInfo": by_clock(1980, 3201),
    "nvmlDeviceGetPowerUsage": 412345,
    "nvmlDeviceGetEnforcedPowerLimit": 700000,
    "nvmlDeviceGetPowerManagementDefaultLimit": 700000,
    "nvmlDeviceGetTemperature": 46,
    "nvmlDeviceGetTemperatureThreshold": 89,
    "nvmlDeviceGetCurrentClocksEventReasons": 0,
    "nvmlDeviceGetComputeRunningProcesses_v3": [process(4711, 600 << 20)],
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=601 << 20, total=143771 << 20),
    "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=60),
    "nvmlDeviceGetPersistenceMode": 1,
    "nvmlDeviceGetComputeMode": 0,
    "nvmlDeviceGetEccMode": [1, 1],
    "nvmlDeviceGetTotalEccErrors": 0,
    "nvmlDeviceGetRemappedRows": (0, 0, 0, 0),
    "nvmlDeviceGetMaxMigDeviceCount": 7,
    "nvmlDeviceGetVirtualizationMode": 0,
    "nvmlDeviceGetDisplayActive": 0,
    "nvmlDeviceGetCurrPcieLinkWidth": 16,
    "nvmlDeviceGetMaxPcieLinkWidth": 16,
}
"""An H200 of a server, at work; driver 580, its clocks, limit and memory as measured."""

IDLE_H200: Answers = {
    **H200,
    "nvmlDeviceGetClockInfo": by_clock(345, 3201),
    "nvmlDeviceGetPowerUsage": 76000,
    "nvmlDeviceGetTemperature": 28,
    "nvmlDeviceGetCurrentClocksEventReasons": 1,
    "nvmlDeviceGetComputeRunningProcesses_v3": [],
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=0, total=143771 << 20),
    "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=0, memory=0),
}

RTX3090: Answers = {
    **IDLE_H200,
    "nvmlDeviceGetName": "NVIDIA GeForce RTX 3090",
    "nvmlDeviceGetUUID": "GPU-b0c2d4e6-1111-2222-3333-444455556666",
    "nvmlDeviceGetCudaComputeCapability": (8, 6),
    "nvmlDeviceGetClockInfo": by_clock(1695, 9501),
    "nvmlDeviceGetMaxClockInfo": by_clock(2100, 9751),
    "nvmlDeviceGetEnforcedPowerLimit": 280000,
    "nvmlDeviceGetPowerManagementDefaultLimit": 350000,
    "nvmlDeviceGetTemperature": 84,
    "nvmlDeviceGetTemperatureThreshold": 93,
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=900 << 20, total=24 * GIB),
    "nvmlDeviceGetPersistenceMode": 0,
    "nvmlDeviceGetEccMode": lambda _handle: _unsupported(),
    "nvmlDeviceGetTotalEccErrors": lambda *_: _unsupported(),
    "nvmlDeviceGetRemappedRows": lambda _handle: _unsupported(),
    "nvmlDeviceGetMaxMigDeviceCount": 0,
    "nvmlDeviceGetDisplayActive": 1,
    "nvmlDeviceGetCurrPcieLinkWidth": 8,
}
"""A desktop's card that draws the screen, warm, with a lowered limit, in a slot of eight lanes."""

WSL2_3090: Answers = {
    **_ONE_GPU,
    "nvmlDeviceGetName": "NVIDIA GeForce RTX 3090",
    "nvmlDeviceGetUUID": "GPU-b0c2d4e6-1111-2222-3333-444455556666",
    "nvmlDeviceGetCudaComputeCapability": (8, 6),
    "nvmlDeviceGetClockInfo": by_clock(1695, 9501),
    "nvmlDeviceGetTemperature": 50,
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=1500 << 20, total=24 * GIB),
}
"""The same under WSL2, where the driver answers little and lists no process."""

MIG_SLICE: Answers = {
    **IDLE_H200,
    "nvmlDeviceGetMigDeviceHandleByIndex": lambda _gpu, position: (
        f"mig{position}" if position < 2 else _missing()
    ),
    "nvmlDeviceGetHandleByUUID": lambda uuid: uuid.removesuffix("-0000").lower().replace("-", ""),
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": lambda handle: (
        "gpu0" if handle.startswith("mig") else _unsupported()
    ),
    "nvmlDeviceGetUUID": lambda handle: f"MIG-{handle[-1]}-0000",
    "nvmlDeviceGetName": lambda handle: (
        "NVIDIA H200 MIG 3g.71gb" if handle.startswith("mig") else "NVIDIA H200"
    ),
    "nvmlDeviceGetClockInfo": lambda handle, clock: (
        _unsupported() if handle != "gpu0" else by_clock(1980, 3201)(handle, clock)
    ),
    "nvmlDeviceGetMemoryInfo": lambda handle, *_: SimpleNamespace(
        used=0, total=(71 if handle.startswith("mig") else 143) * GIB
    ),
    "nvmlDeviceGetUtilizationRates": lambda _handle: _unsupported(),
}
"""An H200 in two slices: clocks are its GPU's, memory is each slice's."""


def _unsupported() -> Any:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)


def _missing() -> Any:
    raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
