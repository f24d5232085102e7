"""Gates with one deliberate defect each: negative controls of the gate."""

from guardrail.families.interface import Case, Choice
from guardrail.kernels.q6k import gate, geometry


def pick_without_upper_bound(case: Case) -> Choice:
    """Send every row of more than one tile to the pipelined arm of its layout."""
    choice = gate.pick(case)
    beyond = int(case["id"]) > geometry.tile_elements(int(case.get("block_units", geometry.BLOCK_UNITS)))
    if choice.arm in ("v2", "v2_dpl") and beyond and case["pipelined"]:
        return Choice(choice.arm.replace("v2", "v2_pf"))
    return choice


def pick_never_pipelined(case: Case) -> Choice:
    """Send rows of two tiles to the looping arms."""
    choice = gate.pick(case)
    return Choice(choice.arm.replace("_pf", ""), because=choice.because or "a mutant without pipelined arms")


def pick_without_reason(case: Case) -> Choice:
    """Pick as the gate does, and keep the reason to itself."""
    return Choice(gate.pick(case).arm)


def pick_for_any_tokens(case: Case) -> Choice:
    """Ask the gate for one token, however many there are."""
    return gate.pick({**case, "tokens": 1})
