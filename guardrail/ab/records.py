"""What a comparison writes into the ledger, before its first run and after its last."""

import shlex
from dataclasses import dataclass
from typing import Any

from guardrail.ab.arm import Arm
from guardrail.ab.comparison import Comparison
from guardrail.ab.plan import Plan
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


def registration(lever: Lever, plan: Plan) -> Row:
    """Write down what is to decide.

    Raises:
        UsageError: What is said of the lever makes no row.
    """
    limits = f"at most {plan.pairs} pairs and {plan.budget:g} s, confidence {plan.confidence:g}"
    criterion = [
        *(f"accept {criterion}" for criterion in plan.accept),
        *(f"veto {criterion}" for criterion in plan.veto),
        *(f"control {name} does not move" for name in plan.controls),
        f"{limits}, cache {plan.cache}",
    ]
    return _row(lever, plan, {"id": lever.id, "verdict": "registered", "criterion": criterion})


def result(lever: Lever, plan: Plan, found: Comparison) -> Row:
    """Write down what was measured."""
    low, high = found.metric.ratio_interval
    return _row(
        lever,
        plan,
        {
            "id": lever.id + _RESULT,
            "verdict": "measured-only",
            "estimate": round(found.metric.ratio, 6),
            "interval": [round(low, 6), round(high, 6)],
            "confidence": round(found.confidence, 6),
            "outcome": found.verdict.value,
            "lesson": found.reason,
            "registered": lever.id,
        },
    )


def _row(lever: Lever, plan: Plan, stated: dict[str, Any]) -> Row:
    return make_row(
        {
            "date": lever.date,
            "what": lever.what,
            "mechanism": lever.mechanism,
            "commit": lever.commit,
            "arms": {"A": shown(plan.a), "B": shown(plan.b)},
            "metric": f"{plan.metric} ({plan.reader})",
            **stated,
        }
    )


def shown(arm: Arm) -> str:
    """Write an arm as a shell would take it."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in arm.environment.items()]
    return " ".join([*variables, shlex.join(arm.command)])
