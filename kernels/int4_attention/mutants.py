"""Gates and plans, each with one deliberate defect."""

from dataclasses import replace

from guardrail.families.interface import Case, Choice
from guardrail.families.models import ModelProfile
from guardrail.kernels.int4_attention import dispatch, gate, plan, plan_cases

_CAPTURED_FOR_ONE_SEQUENCE = (1, 2, 4, 8)
_SNAPPED_TO = (1, 2, 4, 8, 16, 24, 32)


def pick_without_saying_why(case: Case) -> Choice:
    """Take the 2D arm for every multi-query batch, as with the flag off, and give no reason."""
    return Choice("2d") if int(case["query_len"]) > 1 else gate.pick(case)


def pick_2d_always(case: Case) -> Choice:
    """Take the 2D arm for everything, with a reason."""
    return Choice("2d", because=dispatch.NO_SEGMENTS)


def pick_beyond_threshold(case: Case) -> Choice:
    """Take the 3D arm however many sequences there are."""
    return Choice("3d") if int(case["query_len"]) <= dispatch.MAX_QUERY_LEN else gate.pick(case)


def pick_with_sequence_rows(case: Case) -> Choice:
    """Hold the batch against a scratch of as many rows as there may be sequences."""
    return _pick_with_rows(case, plan.effective_threshold(gate.engine_of(case)))


def pick_with_snapped_rows(case: Case) -> Choice:
    """Hold a captured batch against as many rows as the threshold has after snapping to 1, 2, 4 or 8."""
    engine = gate.engine_of(case)
    snapped = plan.effective_threshold(replace(engine, capture_sizes=_CAPTURED_FOR_ONE_SEQUENCE))
    return _pick_with_rows(case, snapped if case["captured"] else plan.capacity(engine))


def sequence_rows(configuration: Case) -> int:
    """Allocate a row for each sequence that may take the 3D arm."""
    return int(configuration["seq_threshold"])


def snapped_rows(configuration: Case) -> int:
    """Allocate a row for each sequence, after the threshold was moved to a capture size."""
    return min(_SNAPPED_TO, key=lambda size: abs(size - int(configuration["seq_threshold"])))


def unpadded_rows(configuration: Case) -> int:
    """Allocate a row for each token that policy admits, none for a captured graph's padding."""
    return plan.admitted_tokens(plan_cases.engine_of(configuration))


def row_bytes_without_sums(model: ModelProfile) -> int:
    """Size one token row without its maxima and sums."""
    return plan_cases.row_bytes(model) - 8 * model.query_heads * plan.SEGMENTS


def _pick_with_rows(case: Case, rows: int) -> Choice:
    decision = dispatch.decide(
        replace(gate.call_of(case), scratch_rows=(rows, rows, rows), declared_capacity=rows)
    )
    return Choice(decision.arm, because=", ".join(decision.deliberate))
