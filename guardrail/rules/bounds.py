"""Judging measurements by the bounds of a guard."""

import math
from collections.abc import Mapping, Sequence

from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.verdict import Status, Verdict
from guardrail.rules.noise import slack_below_spread
from guardrail.spec.fields import Number
from guardrail.spec.guards import Bound, LoadedGuard
from guardrail.spec.limits import EffectiveLimit, limits_at


def judge(loaded: LoadedGuard, measured: Sequence[Measurement | Unmeasured]) -> list[Verdict]:
    """Apply a guard's bounds to what was measured for it.

    Every measurement of a bounded metric must hold. A metric without a measurement, or one behind which
    nothing was inspected, is an error: it never passes.

    Args:
        loaded: The guard with its lines.
        measured: What its probe returned.

    Returns:
        One verdict for each bound and measurement, and one for each reason why something was not measured.
    """
    missing = [item for item in measured if isinstance(item, Unmeasured)]
    verdicts = _report(missing, loaded.line)
    # A guard of which nothing at all was measured has said why; one metric missing among others has not.
    explained = len(missing) == len(measured) > 0
    for metric, bound in loaded.guard.require.items():
        line = loaded.bound_lines.get(metric, loaded.line)
        matching = [item for item in measured if isinstance(item, Measurement) and item.metric == metric]
        if matching:
            verdicts += [_judge_one(measurement, bound, line) for measurement in matching]
        elif not explained:
            sentence = f"{metric} was not measured"
            verdicts.append(Verdict(Status.ERROR, "not-measured", sentence, metric=metric, line=line))
    return verdicts


def _report(missing: Sequence[Unmeasured], line: int) -> list[Verdict]:
    """Say each reason once, with all the places that it concerns: a missing tool is missing everywhere."""
    places: dict[tuple[Status, str, str], list[Mapping[str, str]]] = {}
    for item in missing:
        places.setdefault((*_standing(item), item.reason), []).append(item.where)
    verdicts = []
    for (status, code, reason), where in places.items():
        evidence = tuple(", ".join(place.values()) for place in where) if len(where) > 1 else ()
        only = where[0] if len(where) == 1 else {}
        verdicts.append(Verdict(status, code, reason, where=only, evidence=evidence, line=line))
    return verdicts


def _standing(item: Unmeasured) -> tuple[Status, str]:
    if item.skipped:
        return Status.SKIPPED, "not-for-this-machine"
    if item.undecided:
        return Status.UNDECIDED, "nothing-usable"
    return Status.ERROR, "not-measured"


def _judge_one(measurement: Measurement, bound: Bound, line: int) -> Verdict:
    status, code, sentence, limit_text, excess = _decide(measurement, bound)
    return Verdict(
        status=status,
        code=code,
        sentence=sentence,
        metric=measurement.metric,
        unit=measurement.unit,
        where=measurement.where,
        measured=measurement.value,
        bound=limit_text,
        excess=excess,
        evidence=tuple(finding.sentence for finding in measurement.findings),
        line=line,
    )


def _decide(measurement: Measurement, bound: Bound) -> tuple[Status, str, str, str, Number | None]:
    """Decide one measurement: status, code, sentence, the bound in words, and the excess."""
    name = _name(measurement)
    limits = limits_at(bound, measurement.where)
    text = " and ".join(map(in_words, limits))
    if bound.slack is not None and not limits:
        return Status.ERROR, "not-anchored", f"{name} is not anchored{_elsewhere(bound)}", text, None
    if len(limits) < sum(limit is not None for limit in (bound.equals, bound.floor, bound.ceiling)):
        keys = ", ".join(sorted(bound.keys()))
        return Status.ERROR, "no-bound", f"{name} has no bound: the bound is keyed by {keys}", text, None
    if measurement.inspected == 0:
        return Status.ERROR, "nothing-inspected", f"{name}: nothing was inspected", text, None
    value = measurement.value
    if value is None:
        return Status.ERROR, "not-a-number", f"{name} is not known, must be {text}", text, None
    low, high = measurement.interval or (value, value)
    if not all(map(_finite, (value, low, high))):
        sentence = f"{name} is {_estimate(measurement)}, not a finite number, must be {text}"
        return Status.ERROR, "not-a-number", sentence, text, None
    shown = f"{_number(value)} {measurement.unit}"
    undecided = False
    for limit in limits:
        beyond = _beyond(limit, low, high)
        if beyond:
            code = f"not-{limit.kind}" if limit.kind == "equals" else f"beyond-{limit.kind}"
            sentence = f"{_changed(measurement)}{name} is {shown}, must be {in_words(limit)}"
            return Status.FAIL, code, sentence, text, beyond
        undecided = undecided or not _clear(limit, low, high)
    if reason := slack_below_spread(bound, measurement):
        return Status.ERROR, "slack-below-spread", f"{name}: {reason}", text, None
    if undecided:
        sentence = f"{name} is {shown}, within noise ({_number(low)} to {_number(high)}) of the bound {text}"
        return Status.UNDECIDED, "within-noise", sentence, text, None
    return Status.PASS, "holds", f"{name} is {shown}, {text}", text, None


def in_words(limit: EffectiveLimit) -> str:
    """Write a limit as a report shows it: ``at least 686 (anchor 700)``."""
    words = {"equals": "exactly", "floor": "at least", "ceiling": "at most"}[limit.kind]
    origin = f" (anchor {_number(limit.anchor.value)})" if limit.anchor else ""
    return f"{words} {_number(limit.value)}{origin}"


def _elsewhere(bound: Bound) -> str:
    """Say how a bound gets an anchor, and which others it has."""
    keys = ", ".join(sorted(bound.keys()))
    others = f" here, only for {keys}" if keys else ""
    return f"{others}, so no bound is derived; measure one with 'guardrail reanchor'"


def _beyond(limit: EffectiveLimit, low: float, high: float) -> Number:
    """Tell how far a whole interval lies beyond a limit; 0 where it does not."""
    if limit.kind != "ceiling" and high < limit.value:
        return limit.value - high
    if limit.kind != "floor" and low > limit.value:
        return low - limit.value
    return 0


def _clear(limit: EffectiveLimit, low: float, high: float) -> bool:
    """Tell whether a whole interval lies on the good side of a limit."""
    return not _beyond(limit, low, low) and not _beyond(limit, high, high)


def _finite(number: Number) -> bool:
    return isinstance(number, int) or math.isfinite(number)


def _estimate(measurement: Measurement) -> str:
    numbers = [measurement.value, *(measurement.interval or ())]
    value, *interval = (str(number) for number in numbers)
    return f"{value} ({' to '.join(interval)})" if interval else value


def _name(measurement: Measurement) -> str:
    place = ", ".join(measurement.where.values())
    return f"{measurement.metric} ({place})" if place else measurement.metric


def _changed(measurement: Measurement) -> str:
    return f"{measurement.changed}: " if measurement.changed else ""


def _number(value: Number) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
