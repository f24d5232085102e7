"""Two dumps held against each other, with everything that a report says about them."""

from collections.abc import Sequence
from dataclasses import dataclass

from guardrail.errors import UsageError
from guardrail.logits.classes import Classification, classify
from guardrail.logits.difference import (
    LogitDifference,
    compare_logits,
    delta_of,
    differing_elements,
    nonfinite_elements,
)
from guardrail.logits.dump import Dump
from guardrail.logits.refusals import caveats, pair_refusals, refusals


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """How one further tensor of two dumps differs."""

    name: str
    elements: int
    differing: int
    nonfinite: int
    """NaN or infinite elements of both together."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two dumps, how far they differ, and what that is called."""

    one: Dump
    other: Dump
    logits: LogitDifference
    tensors: tuple[TensorDifference, ...]
    floors: tuple[float, ...]
    """max |delta| of each reference pair."""
    classification: Classification
    caveats: tuple[str, ...]


def compare_dumps(
    one: Dump, other: Dump, pairs: Sequence[tuple[Dump, Dump]], factor: float, top: int
) -> Comparison:
    """Compare two dumps.

    Args:
        one: The one that is trusted.
        other: The one in question.
        pairs: Reference pairs, whose own differences are rounding.
        factor: How many times the largest of those still is rounding.
        top: How many likeliest tokens to look at.

    Raises:
        UsageError: They, or they and a pair, must not be compared; all reasons at once.
    """
    reasons = list(refusals(one, other))
    if not reasons:
        reasons = [reason for pair in pairs for reason in pair_refusals(pair, (one, other))]
    if reasons:
        raise UsageError("refused: " + "; ".join(reasons))
    difference = compare_logits(one.logits, other.logits, top)
    floors = tuple(delta_of(first.logits, second.logits).max_abs for first, second in pairs)
    shared = sorted(one.tensors.keys() & other.tensors.keys())
    tensors = tuple(_tensor(name, one, other) for name in shared)
    found = classify(
        difference,
        floors,
        factor,
        unequal=[tensor.name for tensor in tensors if tensor.differing],
        nonfinite=[tensor.name for tensor in tensors if tensor.nonfinite],
    )
    return Comparison(one, other, difference, tensors, floors, found, tuple(caveats(one, other)))


def _tensor(name: str, one: Dump, other: Dump) -> TensorDifference:
    ours, theirs = one.tensors[name], other.tensors[name]
    return TensorDifference(
        name,
        ours.size,
        differing_elements(ours, theirs),
        nonfinite_elements(ours) + nonfinite_elements(theirs),
    )
