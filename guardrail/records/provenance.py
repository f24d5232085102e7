"""Where and with what a run was measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Provenance:
    """Everything that must be known to repeat a run or to refuse to compare it."""

    time: str
    """Start of the run, ISO 8601 with offset."""
    command: str
    host: str
    python: str
    versions: Mapping[str, str] = field(default_factory=dict)
    """Installed version of each library that measurements depend on."""
    commit: str | None = None
    """Git commit of the tree that holds the guards file; None outside a checkout."""
    dirty: bool | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Environment variables in force that can change a measurement (``TRITON_*`` and the like)."""
    device: str | None = None
    """Name and UUID of the GPU that kernels ran on; None where they were interpreted."""
    device_settings: Mapping[str, str] = field(default_factory=dict)
    """How that GPU was set up: power limit, top clocks, persistence, ECC; empty without one."""
    caches: Mapping[str, str] = field(default_factory=dict)
    """State of each compiler's cache as the run began: ``cold``, or its number of files and fingerprint."""
