"""What is wrong with a GPU before anything runs on it."""

from collections.abc import Iterator

from guardrail.records.device_settings import DeviceSettings
from guardrail.records.device_state import DeviceState
from guardrail.records.spoiler import Spoiler

HEAT_MARGIN_CELSIUS = 10
"""Distance to the slowdown temperature below which a run would reach it; nsight-python waits below it too."""

WSL_SPILLS = 0.95
"""Part of a card's memory in use from which on WSL2 was seen to move it to the host: 23,371 of 24,576 MiB."""


def unfit_settings(gpu: DeviceSettings, state: DeviceState) -> Iterator[Spoiler]:
    """Find the settings and the wear of a GPU that spoil whatever is measured on it."""
    if gpu.compute_mode == "prohibited":
        yield Spoiler(
            "The compute mode is 'prohibited', so no kernel can run.",
            f"sudo nvidia-smi -i {gpu.index} --compute-mode=DEFAULT",
        )
    if gpu.persistence is False and not gpu.display:
        yield Spoiler(
            "Persistence mode is off, so the driver resets the GPU between runs, and each starts cold.",
            f"sudo nvidia-smi -i {gpu.index} --persistence-mode=1",
        )
    if gpu.virtual:
        yield Spoiler(
            "It is a virtual GPU, which its hypervisor may share with others unseen.",
            "Measure on a whole GPU, or on a MIG slice.",
        )
    if gpu.display:
        yield Spoiler(
            "It draws a display, and the desktop's work runs between the kernels.",
            "Measure on another GPU, or from a text console without a desktop.",
        )
    yield from _broken_memory(gpu)
    yield from _heat(gpu, state)


def silent_spills(gpu: DeviceSettings, state: DeviceState, release: str) -> Iterator[Spoiler]:
    """Find a card so full that WSL2 moves memory to the host, where others would run out of it.

    Args:
        gpu: The card.
        state: A sample of it.
        release: The kernel's, as ``uname -r`` prints it.
    """
    used, size = state.memory_used_bytes, gpu.memory_bytes
    if is_wsl(release) and used is not None and size and used >= WSL_SPILLS * size:
        yield Spoiler(
            f"{used / size:.0%} of its memory is in use, and WSL2 moves what does not fit to the host "
            "without an error: kernels then wait for PCIe.",
            "Give the engine less memory, or free some on the Windows side.",
        )


def is_wsl(release: str) -> bool:
    """Tell the kernel of WSL2 by its release: ``5.15.90.1-microsoft-standard-WSL2``."""
    return "microsoft" in release.lower()


def remarks(gpu: DeviceSettings, state: DeviceState) -> Iterator[str]:
    """Note what makes figures differ from another card's without spoiling them."""
    limit, default = state.power_limit_watts, gpu.default_power_limit_watts
    if limit is not None and default is not None and limit != default:
        yield f"The power limit is {limit:.0f} W where the card's own is {default:.0f} W."
    if "applications-clocks-setting" in state.clock_event_reasons:
        yield "The clocks are locked, so figures differ from those of a card that may boost."
    if gpu.mig:
        yield "It is a MIG slice: it has a part of the SMs, of the L2 and of the memory's rate."
    if gpu.ecc is False:
        yield "ECC is off: a flipped bit of memory is not noticed."
    if gpu.compute_mode == "exclusive-process":
        yield "The compute mode is 'exclusive-process': a second process fails instead of waiting."
    width, most = gpu.pcie_width, gpu.max_pcie_width
    if width is not None and most is not None and width < most:
        yield f"PCIe runs {width} lanes of {most}, so copies from and to the host are slower."


def _broken_memory(gpu: DeviceSettings) -> Iterator[Spoiler]:
    if gpu.uncorrected_errors:
        yield Spoiler(
            f"ECC has found {gpu.uncorrected_errors} memory errors that it could not correct.",
            "Stop what runs there and reset the GPU: nvidia-smi --gpu-reset. Replace it if they come back.",
        )
    if gpu.remap_pending:
        yield Spoiler(
            "Broken rows of its memory wait to be replaced by spare ones.",
            "Stop what runs there and reset the GPU: nvidia-smi --gpu-reset.",
        )


def _heat(gpu: DeviceSettings, state: DeviceState) -> Iterator[Spoiler]:
    heat, limit = state.temperature_celsius, gpu.slowdown_celsius
    if heat is not None and limit is not None and limit - heat < HEAT_MARGIN_CELSIUS:
        yield Spoiler(
            f"It has {heat} °C before anything runs, and slows down at {limit} °C.",
            "Let it cool, and look at its airflow.",
        )
