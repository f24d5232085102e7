"""What a probe measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity that a probe can measure."""

    name: str
    unit: str
    meaning: str
    """One sentence: what the number counts or weighs."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of evidence behind a measurement."""

    sentence: str
    models: tuple[str, ...] = ()
    """Model profiles that the finding concerns; empty where it concerns none in particular."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One metric of one subject at one place, with the evidence for it."""

    metric: str
    unit: str
    value: float | int | None
    """The estimate; None where it could not be known, which never passes a bound."""
    where: Mapping[str, str] = field(default_factory=dict)
    """What was measured: ``{"build": "id5120", "arch": "sm_90"}``. Bounds may be keyed by its values."""
    samples: tuple[float, ...] = ()
    """Raw samples behind the estimate; empty for an exact metric."""
    interval: tuple[float, float] | None = None
    """Distribution-free interval of the estimate; None for an exact metric."""
    inspected: int = 1
    """How many cases, builds or batches stand behind the value; 0 makes the guard an error."""
    findings: tuple[Finding, ...] = ()
    changed: str = ""
    """What differs from when the bound was anchored: ``triton 3.7.1 -> 3.9.0``; empty where nothing does."""


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A part of a guard that a probe could not measure, or that is not for this machine."""

    reason: str
    where: Mapping[str, str] = field(default_factory=dict)
    skipped: bool = False
    """True where the part is for another machine; False where measuring it failed."""
    undecided: bool = False
    """True where it was measured, and nothing that was measured can be relied on."""
