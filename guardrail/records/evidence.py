"""What an anchor rests on: raw samples with where and how they were measured."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from guardrail.records.provenance import Provenance


@dataclass(frozen=True, slots=True)
class EvidenceWindow:
    """One run that measured the metric."""

    value: float | int
    provenance: Provenance
    samples: tuple[float, ...] = ()
    interval: tuple[float, float] | None = None
    subject_hash: str | None = None
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One anchor with all that speaks for it."""

    guard: str
    metric: str
    unit: str
    profile: str | None
    probe: str
    subject: str
    value: float | int
    anchor_class: str
    reason: str
    commit: str
    date: str
    windows: tuple[EvidenceWindow, ...]
    """The runs whose median the value is."""
    ref: str | None = None
    toolchain: str | None = None
    predicted: str | None = None
    against: str | None = None
    """Revision or command that the windows were interleaved with."""
    old_windows: tuple[EvidenceWindow, ...] = ()
    """What the old build measured, one window before or after each of the new one's."""
    green: tuple[str, ...] = ()
    """Correctness guards that held in the tree that was measured."""
    was_red: tuple[str, ...] = ()
    """Those of them that a saved run saw fail before the fix."""


def anchored_value(values: Sequence[float | int]) -> float | int:
    """Reduce the values of several windows to what an anchor states: their median, to six digits."""
    median = statistics.median(values)
    return median if isinstance(median, int) else float(f"{median:.6g}")
