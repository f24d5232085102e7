"""What can be measured on the GPU of this machine, found without touching it."""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from guardrail.adapters.nsight import require_tool
from guardrail.adapters.nsight_access import counters_permitted, tool_version
from guardrail.errors import ToolMissingError
from guardrail.records.device_state import DeviceState
from guardrail.records.doctor import Capability

_OPEN_COUNTERS = (
    "As root: echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 "
    "> /etc/modprobe.d/nvidia-profiling.conf; update-initramfs -u (or dracut --force); reboot. "
    "In a container: the same on its host, or start it with --cap-add=SYS_ADMIN."
)
_CUPTI = "time kernels (CUPTI)"
_FIELDS = (
    "sm_clock_mhz",
    "memory_clock_mhz",
    "power_watts",
    "power_limit_watts",
    "temperature_celsius",
    "processes",
    "memory_used_bytes",
    "utilization_percent",
)


@dataclass(frozen=True, slots=True)
class Stack:
    """What stands between torch and the GPU."""

    torch: str | None
    """Installed version."""
    torch_cuda: str | None
    driver_cuda: str | None
    """Newest CUDA that the driver runs; None where there is no driver."""
    visible: int
    """GPUs that CUDA_VISIBLE_DEVICES leaves."""

    def obstacle(self) -> tuple[str, str] | None:
        """Say why torch cannot use a GPU here and what to do; None where nothing is in the way."""
        if self.driver_cuda is None:
            return "there is no NVIDIA driver", "Measure on a machine with an NVIDIA GPU."
        if not self.visible:
            return "CUDA_VISIBLE_DEVICES leaves no GPU", "unset CUDA_VISIBLE_DEVICES"
        if self.torch is None:
            return "torch is not installed", "Run: pip install 'gpu-guardrail[gpu]'"
        if self.torch_cuda is None:
            return (
                f"torch {self.torch} is a build without CUDA",
                "Install a build with CUDA: https://pytorch.org/get-started/locally",
            )
        if _major(self.torch_cuda) > _major(self.driver_cuda):
            return (
                f"torch is built for CUDA {self.torch_cuda}, and the driver runs {self.driver_cuda} at most",
                f"Update the driver, or install torch for CUDA {_major(self.driver_cuda)}.",
            )
        return None


def gpu_capabilities(stack: Stack, states: Sequence[DeviceState], dcgm: bool) -> Iterator[Capability]:
    """Tell which measurements work on the GPU.

    Args:
        stack: What stands between torch and the GPU.
        states: A sample of each visible GPU.
        dcgm: Whether NVIDIA's data center manager runs here, which may hold the counters.
    """
    obstacle = stack.obstacle()
    why, remedy = obstacle or ("", "")
    runs = obstacle is None
    yield Capability("run kernels on a GPU", runs, why or f"torch for CUDA {stack.torch_cuda}", remedy)
    yield _cupti() if runs else Capability(_CUPTI, False, "needs kernels on a GPU")
    yield _counters(why, dcgm)
    yield _timelines()
    yield _nvml(states)


def _cupti() -> Capability:
    spec = importlib.util.find_spec("nvidia")
    folders = (spec.submodule_search_locations or []) if spec else []
    libraries = sorted(path for folder in folders for path in Path(folder).glob("*/lib/libcupti.so*"))
    if libraries:
        return Capability(_CUPTI, True, f"with {libraries[-1].name}, through torch")
    reason = "no CUPTI among Python's packages; torch may have one of its own"
    return Capability(_CUPTI, None, reason, "A guard of probe timing, or guardrail profile, will tell.")


def _counters(no_gpu: str, dcgm: bool) -> Capability:
    name = "read hardware counters (ncu)"
    version = _nsight("ncu", name)
    if isinstance(version, Capability):
        return version
    if no_gpu:
        return Capability(name, False, f"ncu {version} can read reports alone: {no_gpu}")
    permitted = counters_permitted()
    if permitted is False:
        reason = f"ncu {version}, but the driver keeps counters to administrators (ERR_NVGPUCTRPERM)"
        return Capability(name, False, reason, _OPEN_COUNTERS)
    if dcgm:
        reason = f"ncu {version}, but DCGM runs here and may hold the counters"
        return Capability(name, None, reason, "Run: dcgmi profiling --pause; later: dcgmi profiling --resume")
    if permitted is None:
        reason = f"ncu {version}; the driver does not say who may read counters"
        return Capability(name, None, reason, "Should ncu fail with ERR_NVGPUCTRPERM, see docs/doctor.md.")
    return Capability(name, True, f"with ncu {version}, counters permitted")


def _timelines() -> Capability:
    name = "trace any program (nsys)"
    version = _nsight("nsys", name)
    return version if isinstance(version, Capability) else Capability(name, True, f"with nsys {version}")


def _nsight(tool: str, name: str) -> str | Capability:
    """Find one of NVIDIA's profilers: its version, or why it cannot be used."""
    try:
        path = require_tool(tool)
    except ToolMissingError as error:
        lack = f"{error.tool} is not installed; it would {error.purpose}"
        return Capability(name, False, lack, f"{error.remedy}.")
    version = tool_version(path)
    if version is None:
        return Capability(name, False, f"{path} does not start", f"Run it by hand: {path} --version")
    return version


def _nvml(states: Sequence[DeviceState]) -> Capability:
    name = "watch clocks, power, heat (NVML)"
    if not states:
        return Capability(name, False, "needs a GPU")
    silent = [field for field in _FIELDS if any(getattr(state, field) is None for state in states)]
    if not silent:
        return Capability(name, True, f"all {len(_FIELDS)} fields")
    return Capability(
        name,
        len(silent) < len(_FIELDS),
        f"not told here: {', '.join(silent)}",
        "What is not told goes unnoticed: keep other work off this GPU.",
    )


def _major(version: str) -> int:
    return int(version.partition(".")[0])
