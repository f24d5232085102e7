"""The verdict on the pairs so far."""

from collections.abc import Sequence

from guardrail.ab.comparison import Comparison, Estimate, Pair, Verdict, estimate, notes_of
from guardrail.ab.plan import Plan


def judge(plan: Plan, pairs: Sequence[Pair], confidence: float, ended: str) -> Comparison:
    """Hold the pairs of one look against the criteria.

    Args:
        plan: The comparison.
        pairs: The pairs so far.
        confidence: Confidence of the intervals at this look.
        ended: Why there are no more, for a comparison that stays undecided.
    """
    metric = estimate(plan.metric, pairs, confidence)
    controls = tuple(estimate(name, pairs, confidence) for name in plan.controls)
    verdict, reason = _decide(plan, metric, controls, ended)
    return Comparison(verdict, reason, len(pairs), confidence, metric, controls, notes_of(pairs))


def is_settled(comparison: Comparison) -> bool:
    """Tell whether further pairs would be wasted: decided, or not to be decided for a control that moved."""
    decided = comparison.verdict is not Verdict.UNDECIDED
    return decided or any(control.moved for control in comparison.controls)


def _decide(plan: Plan, metric: Estimate, controls: Sequence[Estimate], ended: str) -> tuple[Verdict, str]:
    low, high = metric.ratio_interval
    shown = f"B/A is {metric.ratio:.4f} ({low:.4f} to {high:.4f})"
    if moved := [control for control in controls if control.moved]:
        names = ", ".join(f"{control.metric} by {control.ratio:.4f}" for control in moved)
        return Verdict.UNDECIDED, f"{shown}, but a control moved: {names}"
    if plan.self_compare:
        if metric.moved:
            return Verdict.VETO, f"{shown}: the arms are one and the same, and yet they differ"
        return Verdict.ACCEPT, f"{shown}: no difference between an arm and itself"
    if metric.meets(plan.accept):
        return Verdict.ACCEPT, f"{shown}: {' and '.join(map(str, plan.accept))}"
    if metric.meets(plan.veto):
        return Verdict.VETO, f"{shown}: {' and '.join(map(str, plan.veto))}"
    return Verdict.UNDECIDED, f"{shown}: neither criterion is clearly met; {ended}"
