"""A guard's anchors over time."""

from collections.abc import Iterator
from dataclasses import dataclass

from guardrail.spec.anchors import Anchor, PastAnchor
from guardrail.spec.guards import Guard


@dataclass(frozen=True, slots=True)
class Step:
    """One anchor of one metric and profile, in force from a day on."""

    anchor: Anchor | PastAnchor
    since: str
    until: str | None
    """None for the anchor in force."""
    change: float | None
    """From the one before it, as a fraction; None for the first."""


@dataclass(frozen=True, slots=True)
class Line:
    """All anchors of one metric for one profile, oldest first."""

    metric: str
    profile: str | None
    steps: tuple[Step, ...]


def lines_of(guard: Guard) -> list[Line]:
    """Order a guard's anchors by metric, profile and time."""
    found = []
    for metric, bound in guard.require.items():
        in_force = bound.anchors()
        for profile in dict.fromkeys([*(past.profile for past in bound.history), *in_force]):
            past = [each for each in bound.history if each.profile == profile]
            now = [in_force[profile]] if profile in in_force else []
            found.append(Line(metric, profile, tuple(_steps([*past, *now]))))
    return found


def _steps(anchors: list[Anchor | PastAnchor]) -> Iterator[Step]:
    before: float | int | None = None
    for anchor in anchors:
        change = anchor.value / before - 1 if before else None
        if isinstance(anchor, PastAnchor):
            yield Step(anchor, anchor.valid_from, anchor.valid_until, change)
        else:
            yield Step(anchor, anchor.date, None, change)
        before = anchor.value
