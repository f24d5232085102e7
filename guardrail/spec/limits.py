"""The limits that a bound sets to one measurement, those derived from an anchor computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeVar

from guardrail.spec.anchors import Anchor, fraction
from guardrail.spec.fields import Number
from guardrail.spec.guards import Bound

T = TypeVar("T")

LimitKind = Literal["equals", "floor", "ceiling"]


@dataclass(frozen=True, slots=True)
class EffectiveLimit:
    """One number that a measurement is held against."""

    kind: LimitKind
    value: Number
    anchor: Anchor | None = None
    """The measurement that it is derived from; None for a written one."""
    stale_beyond: float | None = None
    """A measurement better than this has left a derived limit behind; None for a written one."""


def limits_at(bound: Bound, where: Mapping[str, str]) -> tuple[EffectiveLimit, ...]:
    """List the limits that apply to what was measured at a place.

    A derived floor is anchor x (1 - slack), a derived ceiling anchor x (1 + slack).

    Args:
        bound: The bound of the metric.
        where: The measurement's place, whose values a bound may be keyed by.

    Returns:
        The limits; fewer than the bound states where none of its keys fits.
    """
    kinds: tuple[LimitKind, ...] = ("equals", "floor", "ceiling")
    stated = ((kind, _at(getattr(bound, kind), where)) for kind in kinds)
    written = tuple(EffectiveLimit(kind, value) for kind, value in stated if value is not None)
    anchor = anchor_at(bound, where)
    return written if anchor is None else (*written, derived(bound, anchor.value, anchor))


def derived(bound: Bound, value: Number, anchor: Anchor | None = None) -> EffectiveLimit:
    """Compute the limit that a bound with a slack derives from the value of an anchor."""
    kind = bound.side or "floor"
    exact = _exact(value)
    slack = abs(fraction(bound.slack or "0%") * exact)
    limit, stale = (exact - slack, exact + slack) if kind == "floor" else (exact + slack, exact - slack)
    return EffectiveLimit(kind, _number(limit), anchor, float(stale))


def anchor_at(bound: Bound, where: Mapping[str, str]) -> Anchor | None:
    """Find the anchor that applies to what was measured at a place."""
    return _at(bound.anchor, where)


def _at(stated: T | dict[str, T] | None, where: Mapping[str, str]) -> T | None:
    """Pick what is stated for a place: the number of its first value that is a key."""
    if isinstance(stated, dict):
        return next((stated[value] for value in where.values() if value in stated), None)
    return stated


def _exact(value: Number) -> Fraction:
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def _number(value: Fraction) -> Number:
    return int(value) if value.denominator == 1 else float(value)
