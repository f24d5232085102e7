"""Device work as a profiler saw it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class WorkKind(StrEnum):
    """What a GPU was busy with."""

    KERNEL = "kernel"
    COPY = "copy"
    FILL = "fill"


Dimensions = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel, copy or fill that ran; what its profiler does not tell is None."""

    name: str
    """Symbol of the kernel, demangled where the profiler demangles; the direction of a copy."""
    kind: WorkKind
    duration_ns: float
    start_ns: float | None = None
    """On the profiler's own clock, comparable within one trace."""
    grid: Dimensions | None = None
    block: Dimensions | None = None
    registers: int | None = None
    """Registers a thread."""
    shared_bytes: int | None = None
    """Static and dynamic shared memory of a block."""
    stream: int | None = None
    device: int | None = None
    region: str = ""
    """Innermost named range around the launch; empty where there is none."""
    bytes: int | None = None
    """Bytes moved by a copy or fill, or by a kernel whose author declared them."""
    calls: int = 1
    """Calls that `duration_ns` and `bytes` are the sums of, for a profiler that adds up."""
    counters: Mapping[str, float] = field(default_factory=dict)
    """Hardware counters by ncu's names, in base units (bytes, nanoseconds, ratios as ncu states them)."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that one profiler recorded of one run."""

    tool: str
    """``kineto``, ``ncu``, ``nsys`` or ``proton``."""
    source: str
    """File or command that it came from."""
    launches: tuple[Launch, ...]
    device: str | None = None
    """Name of the GPU, where the trace tells it."""
    arch: str | None = None
    """Its architecture, ``sm_90``, where the trace tells it."""
    notes: tuple[str, ...] = ()
    """What a reader must know about these figures: ``durations are totals of several calls``."""
