"""Gates with one deliberate defect each: negative controls of the gate."""

from collections.abc import Iterator

from guardrail.families.interface import Case, Choice
from guardrail.kernels.q6k import gate, geometry


def pick_without_upper_bound(case: Case) -> Choice:
    """Send every row of more than one tile to v2_pf."""
    choice = gate.pick(case)
    beyond = int(case["id"]) > geometry.tile_elements(int(case.get("block_units", geometry.BLOCK_UNITS)))
    return Choice("v2_pf") if beyond and case["pipelined"] else choice


def pick_never_pipelined(case: Case) -> Choice:
    """Send every row to v2."""
    return Choice("v2", because="a mutant that never takes v2_pf")


def pick_without_reason(case: Case) -> Choice:
    """Pick as the gate does, and keep the reason to itself."""
    return Choice(gate.pick(case).arm)


def domain_of_one_tile() -> Iterator[Case]:
    """List only the rows that fit one tile."""
    for case in gate.domain():
        if int(case["id"]) <= geometry.tile_elements(geometry.BLOCK_UNITS):
            yield case
