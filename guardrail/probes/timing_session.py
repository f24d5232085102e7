"""What one timing session is asked for, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guardrail.families import Case, Operation, Work

COLD, HOT = "cold", "hot"


@dataclass(frozen=True, slots=True)
class TimedArm:
    """One arm of an operation to time on one case, with its data in the L2 or not."""

    operation: Operation
    name: str
    """The case's."""
    case: Case
    arm: str
    cache: str


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """What every window times, and how."""

    timed: tuple[TimedArm, ...]
    rates: tuple[str, ...] = ()
    """Rates of the card to measure in every window."""
    captured: bool = False
    """Whether calls are replayed from a CUDA graph."""
    calls: int = 10
    """Calls of each arm, case and cache state in one window."""
    relative_error: float = 1e-3
    """Largest accepted error of the timed outputs."""


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

    @property
    def windows(self) -> WindowPlan:
        """What every window times: the arms of each case in turn, the steady one last."""
        timed = tuple(
            TimedArm(self.operation, name, case, arm, cache)
            for name, case in self.cases.items()
            for arm in dict.fromkeys(
                (*self.arms[name], *([self.steady[name]] if name in self.steady else []))
            )
            for cache in self.caches
        )
        return WindowPlan(timed, self.rates, self.captured, self.calls, self.relative_error)


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

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "Place":
        """Read back what a worker returned as plain data."""
        work = values["work"] and Work(**values["work"])
        return cls(**{**values, "launches": tuple(values["launches"]), "work": work})


@dataclass(frozen=True, slots=True)
class Window:
    """What one window measured: the median call of each place, and what the card could do meanwhile."""

    rates: Mapping[str, float]
    """Bytes or operations a second."""
    busy_us: tuple[float, ...]
    span_us: tuple[float, ...]

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "Window":
        """Read back what a worker returned as plain data."""
        return cls(values["rates"], tuple(values["busy_us"]), tuple(values["span_us"]))


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
        places = tuple(map(Place.from_plain, values["places"]))
        windows = tuple(map(Window.from_plain, values["windows"]))
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
