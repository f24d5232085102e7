"""What a comparison writes into the ledger, before its first run that counts and after its last."""

from dataclasses import dataclass
from typing import Any

from guardrail.ab.comparison import Comparison
from guardrail.ab.terms import Terms
from guardrail.errors import UsageError
from guardrail.store.ledger import Ledger
from guardrail.store.ledger_row import Row, make_row

_RESULT = "-result"


@dataclass(frozen=True, slots=True)
class Lever:
    """What is tried, and why it should help."""

    id: str
    what: str
    mechanism: str
    date: str
    commit: str | None = None


def require_unused(ledger: Ledger, lever: Lever) -> None:
    """Refuse an id that the ledger holds: a criterion is registered once.

    Raises:
        UsageError: It does.
    """
    for name in (lever.id, lever.id + _RESULT):
        for entry in ledger.entries:
            if entry.row.id == name:
                raise UsageError(
                    f"--id {lever.id}: {ledger.path}:{entry.line} holds {name!r} already; "
                    "another attempt is another row, with an id of its own"
                )


def registration(lever: Lever, terms: Terms) -> Row:
    """Write down what is to decide.

    Raises:
        UsageError: What is said of the lever makes no row.
    """
    limits = f"at most {terms.pairs} pairs and {terms.budget:g} s, confidence {terms.confidence:g}"
    criterion = [
        *(f"accept {criterion}" for criterion in terms.accept),
        *(f"veto {criterion}" for criterion in terms.veto),
        *(f"control {name} does not move" for name in terms.controls),
        ", ".join([limits, *(f"{name} {value}" for name, value in terms.conditions().items())]),
    ]
    return _row(lever, terms, {"id": lever.id, "verdict": "registered", "criterion": criterion})


def result(lever: Lever, terms: Terms, found: Comparison) -> Row:
    """Write down what was measured."""
    low, high = found.metric.ratio_interval
    return _row(
        lever,
        terms,
        {
            "id": lever.id + _RESULT,
            "verdict": "measured-only",
            "estimate": _six_digits(found.metric.ratio),
            "interval": [_six_digits(low), _six_digits(high)],
            "confidence": round(found.confidence, 6),
            "outcome": found.verdict.value,
            "lesson": found.reason + _losses(found),
            "registered": lever.id,
        },
    )


def _row(lever: Lever, terms: Terms, stated: dict[str, Any]) -> Row:
    return make_row(
        {
            "date": lever.date,
            "what": lever.what,
            "mechanism": lever.mechanism,
            "commit": lever.commit,
            "arms": terms.shown_arms(),
            "metric": terms.shown_metric(),
            **stated,
        }
    )


def _losses(found: Comparison) -> str:
    return f"; windows discarded: {len(found.discarded)}" if found.discarded else ""


def _six_digits(number: float) -> float:
    return float(f"{number:.6g}")
