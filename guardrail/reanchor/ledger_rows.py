"""The row of the ledger that a move leaves behind."""

import statistics
from collections.abc import Sequence

from guardrail.reanchor.windows import Series
from guardrail.records.evidence import Evidence
from guardrail.store.ledger_row import Row

_ID_LENGTH = 56
_HASH_DIGITS = 12


def ledger_row(series: Series, evidence: Evidence, name: str, old_build: Sequence[float | int]) -> Row:
    """Tell the ledger of one moved anchor.

    Args:
        series: What was measured.
        evidence: What speaks for the new anchor.
        name: The evidence's name.
        old_build: What the old build measured beside it; the old anchor stands in where it is empty.
    """
    digits = name.partition(":")[2][:_HASH_DIGITS]
    old = series.old
    beside = list(old_build) or ([old.value] if old is not None else [])
    ratios = [round(1 + change, 6) for change in series.changes_from(beside)] if beside else []
    known = bool(ratios) and min(ratios) > 0  # a count that falls to 0 has no ratio that says anything
    was = f"from {old.value} " if old is not None else ""
    ref = f" ({evidence.ref})" if evidence.ref else ""
    moved = f"re-anchor {series.name} {was}to {evidence.value} {evidence.unit}"
    stated = {
        "id": f"reanchor-{evidence.guard}"[:_ID_LENGTH].rstrip("._-") + f"-{digits}",
        "date": evidence.date,
        "verdict": "landed",
        "what": f"{moved}, class {evidence.anchor_class}",
        "mechanism": f"{evidence.reason}{ref}",
        "commit": evidence.commit,
        "arms": _arms(evidence, old.commit if old is not None else None),
        "metric": f"{evidence.metric} in {evidence.unit}",
        "estimate": round(statistics.median(ratios), 6) if known else None,
        "interval": [min(ratios), max(ratios)] if known else None,
        "lesson": evidence.reason,
    }
    return Row.model_validate(stated)


def _arms(evidence: Evidence, old_commit: str | None) -> dict[str, str]:
    arms = {"new": f"commit {evidence.commit}"}
    if evidence.against is not None:
        return {"old": evidence.against, **arms}
    return arms if old_commit is None else {"old": f"the anchor of commit {old_commit}", **arms}
