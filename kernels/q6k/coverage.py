"""What each arm computes of a case, in 32-element units: read from how kernels are built, not the gate."""

from guardrail.families.interface import Case
from guardrail.kernels.q6k import geometry

_LONGEST_INTERPRETED_ROW = 20_480
"""Elements; above the rows of the bundled models. The longest declared row takes seconds there."""


def units(case: Case) -> int:
    """Count the units of one row."""
    return int(case["id"]) // geometry.UNIT_ELEMENTS


def covered_by_v2(case: Case) -> int:
    """Count the units that v2 computes: all, because it loops over as many tiles as the row has."""
    return units(case)


def covered_by_v2_pf(case: Case) -> int:
    """Count the units that v2_pf computes: at most `UNITS_PER_LANE` tiles."""
    reach = geometry.UNITS_PER_LANE * int(case.get("block_units", geometry.BLOCK_UNITS))
    return min(units(case), reach)


def interpretable(case: Case) -> bool:
    """Say whether the case is small enough for Triton's interpreter."""
    return int(case["id"]) <= _LONGEST_INTERPRETED_ROW
