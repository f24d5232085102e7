"""The verdict on the pairs so far."""

from collections.abc import Sequence

from guardrail.ab.comparison import Comparison, Estimate, Pair, Verdict, estimate, notes_of
from guardrail.ab.terms import Terms


def judge(terms: Terms, pairs: Sequence[Pair], confidence: float, ended: str) -> Comparison:
    """Hold the pairs of one look against the criteria.

    Args:
        terms: What decides.
        pairs: The pairs so far.
        confidence: Confidence of the intervals at this look.
        ended: Why there are no more, for a comparison that stays undecided.
    """
    metric = estimate(terms.metric, pairs, confidence)
    controls = tuple(estimate(name, pairs, confidence) for name in terms.controls)
    beside = tuple(estimate(name, pairs, confidence) for name in terms.beside)
    verdict, reason = _decide(terms, metric, controls, ended)
    return Comparison(verdict, reason, len(pairs), confidence, metric, controls, beside, notes_of(pairs))


def is_settled(comparison: Comparison) -> bool:
    """Tell whether further pairs would be wasted: decided, or not to be decided for a control that moved."""
    decided = comparison.verdict is not Verdict.UNDECIDED
    return decided or any(control.moved for control in comparison.controls)


def _decide(terms: Terms, metric: Estimate, controls: Sequence[Estimate], ended: str) -> tuple[Verdict, str]:
    low, high = metric.ratio_interval
    shown = f"B/A is {metric.ratio:.4f} ({low:.4f} to {high:.4f})"
    if moved := [control for control in controls if control.moved]:
        names = ", ".join(f"{control.metric} by {control.ratio:.4f}" for control in moved)
        return Verdict.UNDECIDED, f"{shown}, but a control moved: {names}"
    if terms.self_compare:
        if metric.moved:
            return Verdict.VETO, f"{shown}: the arms are one and the same, and yet they differ"
        return Verdict.ACCEPT, f"{shown}: no difference between an arm and itself"
    if metric.meets(terms.accept):
        return Verdict.ACCEPT, f"{shown}: {' and '.join(map(str, terms.accept))}"
    if metric.meets(terms.veto):
        return Verdict.VETO, f"{shown}: {' and '.join(map(str, terms.veto))}"
    return Verdict.UNDECIDED, f"{shown}: neither criterion is clearly met; {ended}"
