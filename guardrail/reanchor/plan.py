"""The evidence, and the lines of the guards file, that a move consists of."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from guardrail.reanchor.facts import Facts
from guardrail.reanchor.order import Order
from guardrail.reanchor.toolchain import toolchain
from guardrail.reanchor.windows import Series, Window
from guardrail.records.evidence import Evidence, EvidenceWindow
from guardrail.records.measurement import Measurement
from guardrail.spec.anchors import Anchor
from guardrail.store.guards_editor import Move

_COMMIT_DIGITS = 12
_HOST_DIGITS = 12


def with_slack(series: Series, slack: str | None) -> Series:
    """Judge a series by another slack than its bound's."""
    if slack is None:
        return series
    guard = series.loaded.guard
    bound = series.bound.model_copy(update={"slack": slack})
    changed = guard.model_copy(update={"require": {**guard.require, series.metric: bound}})
    return replace(series, loaded=replace(series.loaded, guard=changed))


def evidence_of(
    series: Series, order: Order, facts: Facts, old_build: Sequence[tuple[Window, Measurement]], day: str
) -> Evidence:
    """Collect what speaks for an anchor.

    Args:
        series: What was measured for it.
        order: What the user asks.
        facts: The tree that was measured.
        old_build: The old build's windows, where it ran beside.
        day: Today.
    """
    guard = series.loaded.guard
    measured = zip(series.windows, series.measurements, strict=True)
    return Evidence(
        guard=guard.id,
        metric=series.metric,
        unit=series.measurements[0].unit,
        profile=series.profile,
        probe=guard.probe,
        subject=guard.subject,
        value=series.value,
        anchor_class=order.anchor_class,
        reason=order.reason,
        commit=(facts.provenance.commit or "")[:_COMMIT_DIGITS],
        date=day,
        windows=tuple(_evidence_window(window, measurement) for window, measurement in measured),
        ref=order.ref,
        toolchain=toolchain(series.windows[0].provenance) or None,
        predicted=order.predicted.text if order.predicted else None,
        against=order.against,
        old_windows=tuple(_evidence_window(window, measurement) for window, measurement in old_build),
        green=facts.green(),
        was_red=facts.witnesses(),
    )


def move_of(series: Series, evidence: Evidence, name: str, slack: str | None) -> Move:
    """Write a move as the guards file states it.

    Args:
        series: What was measured.
        evidence: What speaks for the new anchor.
        name: The evidence's name.
        slack: Another slack, or None.
    """
    anchor = {
        "value": evidence.value,
        "class": evidence.anchor_class,
        "reason": evidence.reason,
        "ref": evidence.ref,
        "commit": evidence.commit,
        "date": evidence.date,
        "toolchain": evidence.toolchain,
        "evidence": name,
    }
    old = series.old
    return Move(
        guard=evidence.guard,
        metric=evidence.metric,
        profile=evidence.profile,
        anchor={key: value for key, value in anchor.items() if value is not None},
        past=_past(old, evidence) if old else None,
        superseded=old.evidence if old else None,
        slack=slack,
    )


def _past(old: Anchor, new: Evidence) -> dict[str, str | float | int]:
    stated = {
        "profile": new.profile,
        **old.model_dump(by_alias=True, exclude={"date"}),
        "valid_from": old.date,
        "valid_until": new.date,
        "incomparable_before": new.commit if new.anchor_class == "correctness-fix" else None,
    }
    return {key: value for key, value in stated.items() if value is not None}


def _evidence_window(window: Window, measurement: Measurement) -> EvidenceWindow:
    assert measurement.value is not None
    # Evidence is committed: a host is told from others there, and not named.
    host = hashlib.sha256(window.provenance.host.encode()).hexdigest()[:_HOST_DIGITS]
    return EvidenceWindow(
        measurement.value,
        replace(window.provenance, host=host),
        measurement.samples,
        measurement.interval,
        window.result.subject_hash,
        measurement.where,
    )
