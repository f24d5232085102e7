"""Why an anchor may not be moved, however well it was measured."""

from collections.abc import Iterator, Mapping, Sequence

from guardrail.reanchor.facts import CORRECTNESS_PROBES, WITNESSES, Facts
from guardrail.reanchor.order import Order
from guardrail.reanchor.prediction import contradiction
from guardrail.reanchor.windows import Series
from guardrail.records.provenance import Provenance
from guardrail.records.verdict import Status

CI_REFUSAL = (
    "anchors are not moved in CI: a person moves them, with a reason, and a reviewer reads it; run reanchor "
    "in a checkout, and commit the file"
)


def order_faults(order: Order, tree: Provenance, environment: Mapping[str, str]) -> Iterator[str]:
    """Find what forbids every move before anything is measured for it.

    Args:
        order: What the user asks.
        tree: The tree as it is now.
        environment: Environment variables of this process.

    Yields:
        A sentence for each fault, with what would make it acceptable.
    """
    if environment.get("CI", "").lower() not in ("", "0", "false"):
        yield CI_REFUSAL
    if not order.reason.strip():
        yield "--reason is empty; say in a sentence why the number moves"
    if tree.commit is None:
        yield "the guards file is in no git checkout; make one: an anchor names the commit that was measured"
    elif tree.dirty:
        yield "the tree is dirty; commit or stash the changes: an anchor names the commit that was measured"


def correctness_faults(order: Order, facts: Facts) -> Iterator[str]:
    """Find what says that the engine of this tree may be wrong, or that it was never fixed.

    Yields:
        A sentence for each fault, with what would make it acceptable.
    """
    for result in facts.correctness:
        if result.status not in (Status.PASS, Status.SKIPPED):
            worst = next(verdict for verdict in result.verdicts if verdict.status is result.status)
            yield (
                f"{result.id} ({result.probe}) is {result.status}: {worst.sentence}; an anchor may follow a "
                "correct engine only, so make it green first"
            )
    if order.anchor_class == "correctness-fix" and not order.ref and not facts.witnesses():
        yield (
            f"class correctness-fix needs a {' or '.join(WITNESSES)} guard that was red before and is green "
            "now: give the report of a run from before the fix with --was-red, or refer to one with --ref"
        )


def move_faults(
    series: Series, order: Order, facts: Facts, old_build: Sequence[float | int]
) -> Iterator[str]:
    """Find what forbids moving one anchor.

    Args:
        series: What was measured for it.
        order: What the user asks.
        facts: The tree.
        old_build: What the old build measured in the same windows; empty where there is none.

    Yields:
        A sentence for each fault, with what would make it acceptable.
    """
    old = series.old
    hashes = facts.old_hashes.get(series.name, frozenset())
    changes_code = order.anchor_class in ("correctness-fix", "optimisation")
    if changes_code and facts.subject_hashes.get(series.loaded.guard.id) in hashes:
        yield (
            f"{series.name}: the subject is byte for byte the one that the old number was measured on, so no "
            f"{order.anchor_class} moved it; give class environment or measurement, or measure the new code"
        )
    if order.anchor_class == "optimisation" and old is not None and _is_worse(series, old.value):
        yield (
            f"{series.name}: {series.value} is worse than the anchor of {old.value}, and an optimisation "
            "does not lower what must hold; find the loss, or give the class that explains it"
        )
    if order.predicted is not None:
        base = old_build or ([old.value] if old is not None else [])
        if not base or not all(base):
            yield f"{series.name}: there is no old number to predict a change of; leave --predict out"
        elif sentence := contradiction(order.predicted, series.changes_from(base)):
            yield f"{series.name}: {sentence}"


def _is_worse(series: Series, old: float | int) -> bool:
    return series.value > old if series.bound.side == "ceiling" else series.value < old


def notes(facts: Facts) -> Iterator[str]:
    """Say what is missing though nothing forbids a move."""
    if not facts.correctness:
        yield (
            f"the guards file has no guard of {', '.join(CORRECTNESS_PROBES)}: nothing here says that "
            "what was measured is right"
        )
