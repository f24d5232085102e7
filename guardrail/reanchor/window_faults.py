"""Why windows cannot be anchored to."""

from collections.abc import Iterator, Sequence

from guardrail.reanchor.facts import Facts
from guardrail.reanchor.windows import Series, Window
from guardrail.records.provenance import Provenance
from guardrail.records.verdict import Status
from guardrail.rules.anchors import is_anchor_note
from guardrail.rules.environment import debugged, in_one_sentence
from guardrail.spec.anchors import fraction
from guardrail.stats.replays import find_replays

MINIMUM_WINDOWS = 3

_ABOUT_THE_OLD_BOUND = frozenset(
    {"beyond-floor", "beyond-ceiling", "within-noise", "not-anchored", "stale-anchor"}
)
"""What a window may say of the bound that is about to move."""


def window_faults(windows: Sequence[Window], moving: frozenset[str], facts: Facts) -> Iterator[str]:
    """Find what makes the windows of one guard unfit, whatever they measured.

    Args:
        windows: The guard's result in each run.
        moving: Metrics whose anchors are to be moved.
        facts: The tree that the anchors are for.

    Yields:
        A sentence for each fault, with what would make the window acceptable.
    """
    for window in windows:
        result = window.result
        at = f"{result.id}, {window.source}"
        for verdict in result.verdicts:
            moves = verdict.metric in moving and verdict.code in _ABOUT_THE_OLD_BOUND
            if verdict.status not in (Status.PASS, Status.SKIPPED) and not moves:
                yield f"{at} is {verdict.status}: {verdict.sentence}; measure again once it holds"
        for warning in result.warnings:
            if not is_anchor_note(warning):
                yield f"{at} was spoilt: {warning}; measure again on a quiet machine"
        if result.cached:
            yield f"{at} repeats what the cache held; measure it with --fresh"
        if result.subject_hash != facts.subject_hashes.get(result.id):
            yield f"{at} measured other sources than this tree's; measure this tree"
        yield from (f"{at} {fault}" for fault in _foreign(window.provenance, facts.provenance))
        for spoiler in debugged(window.provenance):
            yield f"{at} was measured under a debug variable: {in_one_sentence(spoiler)}"
    yield from _differences(windows)


def series_faults(series: Series) -> Iterator[str]:
    """Find what makes the windows of one metric too few or too far apart.

    Yields:
        A sentence for each fault, with what would make the series acceptable.
    """
    known = [item for item in series.measurements if item.value is not None and item.inspected]
    if len(known) < len(series.measurements):
        yield f"{series.name} is not known in every window; measure again"
        return
    count = len(series.values)
    if count < MINIMUM_WINDOWS:
        yield (
            f"{series.name} has {count} of at least {MINIMUM_WINDOWS} windows, and one run is no evidence; "
            "give as many with --from, or let reanchor measure them"
        )
        return
    for replay in find_replays([item.samples for item in series.measurements]):
        first, copy = series.windows[replay.first].source, series.windows[replay.run].source
        yield f"{series.name}: {copy} repeats the samples of {first} to the last digit; measure it again"
    slack = series.bound.slack or "0%"
    if series.spread > float(fraction(slack)):
        yield (
            f"{series.name}: the windows lie {series.spread:.2%} apart, more than the slack of {slack} "
            "allows; measure on a quieter machine, or state a wider one with --slack"
        )


def _foreign(window: Provenance, tree: Provenance) -> Iterator[str]:
    if window.commit is None:
        yield "was measured outside a git checkout; commit what was measured"
    elif window.dirty:
        yield "was measured in a dirty tree; commit or stash the changes, and measure again"
    elif window.commit != tree.commit:
        here = (tree.commit or "none")[:12]
        yield f"was measured at commit {window.commit[:12]}, and this tree is at {here}; measure this tree"


def _differences(windows: Sequence[Window]) -> Iterator[str]:
    """Find windows that another device, driver, library or environment measured than the first one."""
    if not windows:
        return
    first = windows[0]
    for window in windows[1:]:
        for name in ("device", "device_settings", "host", "versions", "knobs"):
            one, other = getattr(first.provenance, name), getattr(window.provenance, name)
            if one != other:
                yield (
                    f"{window.result.id}: {first.source} and {window.source} differ in {name} "
                    f"({_shown(one)}; {_shown(other)}); measure all windows in the same place"
                )


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "none"
    return "none" if value is None else str(value)
