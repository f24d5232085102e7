"""Examines a machine before anything is measured on it."""

import os
import platform
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from guardrail.adapters import nvml
from guardrail.adapters.capabilities import static_capabilities
from guardrail.adapters.compile_caches import compile_caches, unwritable_caches
from guardrail.adapters.device import torch_cuda_version
from guardrail.adapters.device_settings import all_gpus, visible_gpus
from guardrail.adapters.device_state import sample
from guardrail.adapters.gpu_capabilities import Stack, gpu_capabilities
from guardrail.adapters.surroundings import versions
from guardrail.records.device_settings import DeviceSettings
from guardrail.records.doctor import Diagnosis, ExaminedGpu
from guardrail.records.spoiler import Spoiler
from guardrail.rules.debug_knobs import debug_knobs
from guardrail.rules.environment import misspelt
from guardrail.rules.spoilers import gpu_spoilers, host_spoilers
from guardrail.rules.unfit_settings import is_wsl, remarks, silent_spills, unfit_settings
from guardrail.spec.profiles import DeviceProfile

_DCGM = ("nv-hostengine", "dcgm-exporter")
_MPS = ("nvidia-cuda-mps-server",)
_COMM_LENGTH = 15
"""Characters of a program's name that Linux keeps."""


def diagnose(profiles: Iterable[DeviceProfile], known_knobs: Iterable[str]) -> Diagnosis:
    """Examine this machine: its GPUs, what can be measured with what is installed, and what would spoil it.

    Args:
        profiles: The device profiles to recognize GPUs by.
        known_knobs: Environment variables that guardrail and its families read.
    """
    everything = all_gpus()
    visible = visible_gpus(everything, os.environ.get("CUDA_VISIBLE_DEVICES"))
    gpus = tuple(_examine(settings, profiles) for settings in visible)
    installed = versions() | _vllm_version()
    stack = Stack(installed.get("torch"), torch_cuda_version(), _driver_cuda(), len(visible))
    running = _running_programs()
    states = [gpu.state for gpu in gpus]
    return Diagnosis(
        system=f"{platform.system()} {platform.release()}, {os.cpu_count()} processors",
        driver=nvml.ask("nvmlSystemGetDriverVersion"),
        driver_cuda=stack.driver_cuda,
        torch_cuda=stack.torch_cuda,
        versions=installed,
        gpus=gpus,
        capabilities=(
            *static_capabilities(installed),
            *gpu_capabilities(stack, states, _runs(running, _DCGM)),
        ),
        caches=compile_caches(),
        spoilers=(
            *_unusable(stack),
            *_ambiguous_numbers(everything),
            *_sharing_server(running),
            *(spoiler for state in states[:1] for spoiler in host_spoilers(state, state)),
            *debug_knobs(os.environ, with_gpu=bool(gpus)),
            *misspelt(os.environ, known_knobs),
            *unwritable_caches(),
        ),
    )


def _examine(settings: DeviceSettings, profiles: Iterable[DeviceProfile]) -> ExaminedGpu:
    state = sample(settings.uuid)
    matching = [profile.name for profile in profiles if profile.device_name == settings.name]
    return ExaminedGpu(
        settings=settings,
        state=state,
        profile=matching[0] if matching else None,
        spoilers=(
            *unfit_settings(settings, state),
            *silent_spills(settings, state, platform.release()),
            *gpu_spoilers(state, state, frozenset()),
        ),
        remarks=(*remarks(settings, state), *_wsl_remark()),
    )


def _wsl_remark() -> Iterator[str]:
    if is_wsl(platform.release()):
        yield "Under WSL2 memory beyond the card's goes to the host without an error, and kernels slow down."


def _driver_cuda() -> str | None:
    """Read the newest CUDA that the driver runs; NVML gives 13000 for 13.0."""
    number = nvml.ask("nvmlSystemGetCudaDriverVersion_v2")
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _vllm_version() -> dict[str, str]:
    try:
        return {"vllm": metadata.version("vllm")}
    except metadata.PackageNotFoundError:
        return {}


def _unusable(stack: Stack) -> Iterator[Spoiler]:
    """Find a GPU that torch cannot use: kernels would be interpreted on the host, and nobody would notice."""
    obstacle = stack.obstacle()
    if stack.visible and obstacle is not None:
        why, remedy = obstacle
        yield Spoiler(f"There is a GPU, and no kernel can run on it: {why}.", remedy)


def _ambiguous_numbers(gpus: tuple[DeviceSettings, ...]) -> Iterator[Spoiler]:
    """Find GPU numbers that CUDA and NVML count in different orders."""
    value = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    in_bus_order = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if value[:1].isdigit() and not in_bus_order and len({gpu.name for gpu in gpus}) > 1:
        yield Spoiler(
            f"CUDA_VISIBLE_DEVICES={value} numbers unlike GPUs by speed for CUDA, by bus for nvidia-smi.",
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the GPU by its UUID",
        )


def _sharing_server(running: frozenset[str]) -> Iterator[Spoiler]:
    if _runs(running, _MPS):
        yield Spoiler(
            "An MPS server runs, so processes share the SMs without being listed as tenants.",
            "Stop it: echo quit | nvidia-cuda-mps-control",
        )


def _runs(running: frozenset[str], names: Iterable[str]) -> bool:
    return not running.isdisjoint(name[:_COMM_LENGTH] for name in names)


def _running_programs() -> frozenset[str]:
    """List the names of the programs that run here, as far as this user is shown."""
    names = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.add(path.read_text().strip())
        except OSError:  # it has ended
            continue
    return frozenset(names)
