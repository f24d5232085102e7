"""What a reader should know of the anchors behind a guard's bounds: stale, old, or from another toolchain."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from guardrail.records.measurement import Measurement
from guardrail.records.report import GuardResult
from guardrail.records.verdict import Status, Verdict
from guardrail.spec.anchors import Anchor
from guardrail.spec.guards import MAX_ANCHOR_DAYS, Bound, LoadedGuard
from guardrail.spec.limits import EffectiveLimit, derived, limits_at

_NOTE = "anchor of "
"""What every warning about an anchor begins with."""


@dataclass(frozen=True, slots=True)
class Today:
    """When and with what guards are judged."""

    day: date
    toolchain: str
    """Driver and compilers, as anchors state them."""
    strict: bool = False
    """Fail where a measurement has left its bound behind."""


def review_anchors(loaded: LoadedGuard, result: GuardResult, today: Today) -> GuardResult:
    """Warn of anchors that no longer say much; under ``strict`` fail where a bound was left behind.

    Args:
        loaded: The guard with its lines.
        result: What was measured and decided for it; warnings that an earlier review left are replaced.
        today: When and with what it is judged.

    Returns:
        The result with its warnings, and its failures where `today` is strict.
    """
    warnings = [warning for warning in result.warnings if not is_anchor_note(warning)]
    verdicts = list(result.verdicts)
    for metric, bound in loaded.guard.require.items():
        matching = [item for item in result.measurements if item.metric == metric]
        for measurement, sentence in _stale(bound, matching):
            if today.strict:
                line = loaded.bound_lines.get(metric, loaded.line)
                verdicts.append(_failure(measurement, sentence, line))
            else:
                warnings.append(f"{_NOTE}{metric}: {sentence}")
        for profile, anchor in _behind(bound, matching).items():
            place = f"{metric} ({profile})" if profile else metric
            warnings += [f"{_NOTE}{place}: {aged}" for aged in _aged(bound, anchor, today)]
    return replace(result, verdicts=tuple(verdicts), warnings=tuple(warnings))


def is_anchor_note(warning: str) -> bool:
    """Tell a warning about an anchor from one about how something was measured."""
    return warning.startswith(_NOTE)


def _stale(bound: Bound, measurements: Sequence[Measurement]) -> Iterator[tuple[Measurement, str]]:
    for measurement in measurements:
        for limit in limits_at(bound, measurement.where):
            if _left_behind(limit, measurement):
                beyond = limit.stale_beyond
                yield (
                    measurement,
                    f"stale {limit.kind}: {_shown(measurement.value)} {measurement.unit} is better than the "
                    f"anchor by more than the slack of {bound.slack} ({_shown(beyond)}), so the "
                    f"{limit.kind} of {_shown(limit.value)} would hide a loss; move it with "
                    "'guardrail reanchor'",
                )


def _left_behind(limit: EffectiveLimit, measurement: Measurement) -> bool:
    """Tell whether a whole interval lies further on the good side of the anchor than the slack reaches."""
    if limit.stale_beyond is None or measurement.value is None or measurement.inspected == 0:
        return False
    low, high = measurement.interval or (measurement.value, measurement.value)
    return low > limit.stale_beyond if limit.kind == "floor" else high < limit.stale_beyond


def _behind(bound: Bound, measurements: Sequence[Measurement]) -> Mapping[str | None, Anchor]:
    """Pick the anchors that bounds of these measurements are derived from."""
    used = [limit.anchor for item in measurements for limit in limits_at(bound, item.where)]
    return {profile: anchor for profile, anchor in bound.anchors().items() if anchor in used}


def _aged(bound: Bound, anchor: Anchor, today: Today) -> Iterator[str]:
    limit = bound.max_age_days or MAX_ANCHOR_DAYS
    days = (today.day - date.fromisoformat(anchor.date)).days
    floor = _shown(derived(bound, anchor.value).value)
    if days > limit:
        yield f"measured {days} days ago, on {anchor.date}; measure again whether {floor} is still its limit"
    then = dict(_versions(anchor.toolchain or ""))
    now = dict(_versions(today.toolchain))
    changes = [
        f"{tool} {then[tool]} -> {now.get(tool, 'none')}" for tool in then if then[tool] != now.get(tool)
    ]
    if changes:
        yield f"measured with another toolchain: {', '.join(changes)}"


def _versions(toolchain: str) -> Iterator[tuple[str, str]]:
    """Split ``driver 580.95, triton 3.7.1`` into tools and versions."""
    for part in toolchain.split(", "):
        tool, _, version = part.rpartition(" ")
        if tool:
            yield tool, version


def _failure(measurement: Measurement, sentence: str, line: int) -> Verdict:
    return Verdict(
        Status.FAIL,
        "stale-anchor",
        f"{measurement.metric}: {sentence}",
        metric=measurement.metric,
        unit=measurement.unit,
        where=measurement.where,
        measured=measurement.value,
        line=line,
    )


def _shown(value: float | int | None) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
