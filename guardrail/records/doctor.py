"""What a machine can measure, and what would spoil it."""

from collections.abc import Mapping
from dataclasses import dataclass

from guardrail.records.device_settings import DeviceSettings
from guardrail.records.device_state import DeviceState
from guardrail.records.spoiler import Spoiler


@dataclass(frozen=True, slots=True)
class Capability:
    """One kind of measurement, and whether it works here."""

    name: str
    works: bool | None
    """None where only trying would tell."""
    detail: str
    """With what it works, or why it does not."""
    remedy: str = ""
    """What to do where it does not."""


@dataclass(frozen=True, slots=True)
class CompileCache:
    """A folder in which a compiler keeps what it compiled."""

    name: str
    folder: str
    artifacts: int
    """Files in it; a cold cache has none."""
    bytes: int
    fingerprint: str
    """Hash of every file's name and size: it changes when something is compiled anew."""

    @property
    def state(self) -> str:
        """Write ``cold``, or the number of files and their fingerprint."""
        return f"files: {self.artifacts}, {self.fingerprint}" if self.artifacts else "cold"


@dataclass(frozen=True, slots=True)
class ExaminedGpu:
    """One GPU that kernels may run on."""

    settings: DeviceSettings
    state: DeviceState
    profile: str | None
    """The device profile that describes it."""
    spoilers: tuple[Spoiler, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything to know before measuring on a machine."""

    system: str
    """Operating system and processors."""
    driver: str | None
    driver_cuda: str | None
    """Newest CUDA that the driver runs."""
    torch_cuda: str | None
    """CUDA that torch was built with; None for a build without it."""
    versions: Mapping[str, str]
    gpus: tuple[ExaminedGpu, ...]
    capabilities: tuple[Capability, ...]
    caches: tuple[CompileCache, ...]
    spoilers: tuple[Spoiler, ...]
    """Those of the machine; each GPU has its own."""

    @property
    def all_spoilers(self) -> tuple[Spoiler, ...]:
        """Collect what spoils measurements on this machine or on any of its GPUs."""
        return (*self.spoilers, *(spoiler for gpu in self.gpus for spoiler in gpu.spoilers))
