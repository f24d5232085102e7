"""Gates with one deliberate defect each: negative controls of the gate."""

from guardrail.families.interface import Case, Choice
from guardrail.kernels.q4k import gate


def pick_never_matvec(case: Case) -> Choice:
    """Send every product to the fallback."""
    return Choice("dequantized", because="a mutant without matrix-vector arms")


def pick_without_reason(case: Case) -> Choice:
    """Send rows of small matrices to the fallback without a word."""
    return Choice(gate.pick(case).arm)


def pick_for_any_tokens(case: Case) -> Choice:
    """Ask the gate for one token, however many there are."""
    return gate.pick({**case, "tokens": 1})
