"""An engine's start, as kernel families see it: what it is started with, and what that leaves allocated."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an engine is started with, as far as buffers of kernels depend on it."""

    max_num_seqs: int
    max_num_batched_tokens: int
    processors: int
    """Multiprocessors of the device."""
    capability: tuple[int, int]
    """Compute capability of the device."""
    capture_sizes: tuple[int, ...] = ()
    """Token counts that attention is captured at, ascending; empty where it runs eagerly."""
    draft_depth: int | None = None
    """Tokens drafted in one step; None where it is not known."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """One set of buffers that an engine's start leaves allocated."""

    models: tuple[str, ...]
    """Models whose layers use the set."""
    rows: int
    """Query tokens that it holds."""
    slots: int
    """What it is divided into: rows times the parts of a row, for the batch that needs most."""
    slot_bytes: int
    origin: str
    """Which step of the start allocated it."""
    profiled: bool
    """Whether the memory profile, and so the KV budget, knows of it."""

    @property
    def bytes(self) -> int:
        """Size the set."""
        return self.slots * self.slot_bytes


@dataclass(frozen=True, slots=True)
class EngineStart:
    """What became of one engine's start."""

    allocations: tuple[Allocation, ...]
    """In the order in which they were made."""
    batches: int
    """Batches that were held against the allocated sets: every one that policy may admit."""
    eligible_2d: int
    """Those that the sets cannot hold, and that take the slower arm for it."""
