"""What two arms gave, pair by pair, and what that says."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from guardrail.ab.arm import Side
from guardrail.ab.criterion import Criterion
from guardrail.results.interface import Stated
from guardrail.stats.intervals import median_interval
from guardrail.stats.paired import ratio_interval


class Verdict(StrEnum):
    """What the registered criteria say."""

    ACCEPT = "accept"
    VETO = "veto"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one arm; each metric's value is the median of its samples."""

    values: Mapping[str, float]
    """The compared metric and the controls by their selectors."""
    units: Mapping[str, str]
    seconds: float
    workload: Mapping[str, Stated] = field(default_factory=dict)
    notes: Mapping[str, Stated] = field(default_factory=dict)
    times: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """One run of each arm, side by side."""

    number: int
    """From 1."""
    first: Side
    """The arm that ran first."""
    a: Run
    b: Run

    def ratio(self, metric: str) -> float:
        """Divide B's value of a metric by A's."""
        return self.b.values[metric] / self.a.values[metric]


@dataclass(frozen=True, slots=True)
class Warmed:
    """The runs that do not count are over; the next one counts."""


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A pair that something else on the machine made worthless."""

    reason: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """One metric over all pairs, with intervals of one confidence."""

    metric: str
    unit: str
    a: float
    """Median of arm A."""
    b: float
    """Median of arm B."""
    ratio: float
    """Median of the pairs' ratios B/A."""
    ratio_interval: tuple[float, float]
    difference_interval: tuple[float, float]

    @property
    def moved(self) -> bool:
        """Tell whether the whole interval of the ratio lies on one side of 1."""
        low, high = self.ratio_interval
        return low > 1 or high < 1

    def meets(self, criteria: Sequence[Criterion]) -> bool:
        """Tell whether every one of some criteria is clearly met."""
        intervals = {"B/A": self.ratio_interval, "B-A": self.difference_interval}
        return all(criterion.is_met(intervals[criterion.quantity]) for criterion in criteria)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The end of a comparison."""

    verdict: Verdict
    reason: str
    pairs: int
    confidence: float
    """Confidence of each interval; lower than what all looks together keep."""
    metric: Estimate
    controls: tuple[Estimate, ...] = ()
    beside: tuple[Estimate, ...] = ()
    """Further metrics, which decided nothing."""
    notes: Mapping[Side, Mapping[str, tuple[Stated, ...]]] = field(default_factory=dict)
    """What the runs of each arm said besides, every value once."""
    discarded: tuple[str, ...] = ()
    """Why each pair that was not kept was not."""


def estimate(metric: str, pairs: Sequence[Pair], confidence: float) -> Estimate:
    """Estimate how a metric of B compares to A's.

    Args:
        metric: The metric's selector.
        pairs: The pairs so far, at least one.
        confidence: Confidence of each interval, in (0, 1).
    """
    base = [pair.a.values[metric] for pair in pairs]
    other = [pair.b.values[metric] for pair in pairs]
    low, ratio, high = ratio_interval(base, other, confidence)
    differences = [after - before for before, after in zip(base, other, strict=True)]
    return Estimate(
        metric=metric,
        unit=pairs[0].a.units[metric],
        a=statistics.median(base),
        b=statistics.median(other),
        ratio=ratio,
        ratio_interval=(low, high),
        difference_interval=median_interval(differences, confidence),
    )


def notes_of(pairs: Sequence[Pair]) -> dict[Side, dict[str, tuple[Stated, ...]]]:
    """Collect what the runs of each arm noted, every value once."""
    runs: dict[Side, list[Run]] = {"A": [pair.a for pair in pairs], "B": [pair.b for pair in pairs]}
    return {
        side: {
            key: tuple(dict.fromkeys(run.notes[key] for run in of_arm if key in run.notes))
            for key in of_arm[0].notes
        }
        for side, of_arm in runs.items()
    }
