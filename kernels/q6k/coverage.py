"""What each arm computes of a case, in 32-element units: read from how kernels are built, not the gate.

Axes that a case leaves out restrict nothing: one token, and every layout.
"""

from guardrail.families.interface import Case
from guardrail.kernels.q6k import geometry

_LONGEST_INTERPRETED_ROW = 20_480
"""Elements; above the rows of the bundled models. The longest declared row takes seconds there."""


def units(case: Case) -> int:
    """Count the units of one row."""
    return int(case["id"]) // geometry.UNIT_ELEMENTS


def covered_by_dequantized(case: Case) -> int:
    """Count the units that the fallback computes: all, for any number of tokens."""
    return units(case)


def covered_by_v1(case: Case) -> int:
    """Count the units that v1 computes: all of one token, because it loops over halves of blocks."""
    return units(case) if int(case.get("tokens", 1)) == 1 else 0


def covered_by_v2(case: Case) -> int:
    """Count the units that v2 computes of padded whole blocks: all, looping over the row's tiles."""
    whole = int(case["id"]) % geometry.BLOCK_ELEMENTS == 0
    return covered_by_v1(case) if whole and case.get("layout") != "raw" else 0


def covered_by_v2_pf(case: Case) -> int:
    """Count the units that v2_pf computes of padded whole blocks: at most `UNITS_PER_LANE` tiles."""
    reach = geometry.UNITS_PER_LANE * int(case.get("block_units", geometry.BLOCK_UNITS))
    return min(covered_by_v2(case), reach)


def covered_by_v2_dpl(case: Case) -> int:
    """Count the units that v2_dpl computes: those of v2, where there is a plane."""
    return covered_by_v2(case) if case.get("layout", "plane") == "plane" else 0


def covered_by_v2_pf_dpl(case: Case) -> int:
    """Count the units that v2_pf_dpl computes: those of v2_pf, where there is a plane."""
    return covered_by_v2_pf(case) if case.get("layout", "plane") == "plane" else 0


def interpretable(case: Case) -> bool:
    """Say whether the case is small enough for Triton's interpreter."""
    return int(case["id"]) <= _LONGEST_INTERPRETED_ROW
