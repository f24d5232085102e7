"""What one timing session is asked for, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guardrail.families import Case, Operation, Work

COLD, HOT = "cold", "hot"


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """What to time, how, and until when."""

    operation: Operation
    cases: Mapping[str, Case]
    """By name."""
    arms: Mapping[str, tuple[str, ...]]
    """Arms to time, by the case's name."""
    caches: tuple[str, ...]
    """``cold`` and ``hot``."""
    rates: tuple[str, ...]
    """Rates of the card to measure in every window."""
    captured: bool
    """Whether calls are replayed from a CUDA graph."""
    calls: int
    """Calls of each arm, case and cache state in one window."""
    relative_error: float
    """Largest accepted error of the timed outputs."""
    confidence: float
    """Probability that the intervals of all looks hold the truth."""
    budget_seconds: float
    limits: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Numbers that each bounded metric must be told from."""
    steady: Mapping[str, str] = field(default_factory=dict)
    """Arm that must not move, by the name of the case that it runs on."""
    steady_within: float = 0.02
    """Largest departure of the steady arm from its own median, as a fraction."""


@dataclass(frozen=True, slots=True)
class Place:
    """One thing that is timed: an arm on a case, with its data in the L2 or not."""

    case: str
    arm: str
    cache: str
    launches: tuple[str, ...] = ()
    """What one call ran on the GPU."""
    registers: int | None = None
    """Registers a thread, of the kernel with the most."""
    shared_bytes: int | None = None
    """Shared memory a block, of the kernel with the most."""
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """What one window measured: the median call of each place, and what the card could do meanwhile."""

    rates: Mapping[str, float]
    """Bytes or operations a second."""
    busy_us: tuple[float, ...]
    span_us: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """All windows of a guard."""

    places: tuple[Place, ...]
    windows: tuple[Window, ...]
    discarded: tuple[str, ...]
    """Why each window that was not kept was not."""
    confidence: float
    """Of one interval, so that those of all looks together keep the plan's."""
    seed: int
    """Seed of the inputs."""

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "Session":
        """Read back what a worker returned as plain data."""
        places = tuple(
            Place(
                **place
                | {"launches": tuple(place["launches"]), "work": place["work"] and Work(**place["work"])}
            )
            for place in values["places"]
        )
        windows = tuple(
            Window(window["rates"], tuple(window["busy_us"]), tuple(window["span_us"]))
            for window in values["windows"]
        )
        return cls(places, windows, tuple(values["discarded"]), values["confidence"], values["seed"])


def steady_windows(windows: Sequence[Window], places: Sequence[int], within: float) -> list[bool]:
    """Tell in which windows the steady arm ran as fast as in the others.

    Args:
        windows: All windows.
        places: Indices of the steady arm's places.
        within: Largest accepted departure from its median, as a fraction.
    """
    kept = [True] * len(windows)
    for place in places:
        times = sorted(window.busy_us[place] for window in windows)
        median = times[len(times) // 2]
        for index, window in enumerate(windows):
            kept[index] = kept[index] and abs(window.busy_us[place] / median - 1) <= within
    return kept
