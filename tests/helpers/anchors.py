"""Anchors, their evidence, and guards that are held by them."""

from typing import Any

from guardrail.records.evidence import Evidence, EvidenceWindow
from guardrail.records.provenance import Provenance
from guardrail.spec.anchors import Anchor

HASH = "sha256:" + "a" * 64

STATED: dict[str, Any] = {
    "value": 700.0,
    "class": "correctness-fix",
    "reason": "the tall rows are computed again",
    "commit": "0123abc",
    "date": "2026-12-03",
    "evidence": HASH,
}
"""An anchor as a guards file states it."""

TREE = Provenance(
    time="2026-12-03T10:00:00+00:00",
    command="guardrail check",
    host="runner-7",
    python="3.12.8",
    versions={"triton": "3.7.1", "torch": "2.13.0"},
    commit="0123abcd4567ef890123abcd4567ef890123abcd",
    dirty=False,
    device="NVIDIA H200 GPU-5a1c, driver 580.95",
)


def anchor(**changes: Any) -> Anchor:
    """Make an anchor."""
    return Anchor.model_validate(STATED | changes)


def evidence(**changes: Any) -> Evidence:
    """Make the evidence of `STATED`, measured in three windows."""
    stated: dict[str, Any] = {
        "guard": "decode",
        "metric": "rate",
        "unit": "tokens/s",
        "profile": "h200",
        "probe": "speed",
        "subject": "engine",
        "value": 700.0,
        "anchor_class": "correctness-fix",
        "reason": STATED["reason"],
        "commit": "0123abc",
        "date": "2026-12-03",
        "windows": tuple(EvidenceWindow(value, TREE, subject_hash="cafe") for value in (699.0, 700.0, 702.0)),
    }
    return Evidence(**stated | changes)
