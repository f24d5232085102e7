"""What each arm computes of a case: read from how the kernels are built, not from the gate."""

from guardrail.families import Case
from rms_norm import geometry


def units(case: Case) -> int:
    """Count the work units of one row."""
    return int(case["columns"]) // geometry.UNIT_COLUMNS


def covered_by_one_pass(case: Case) -> int:
    """Count the units that one pass computes: at most one tile."""
    return min(units(case), geometry.TILE // geometry.UNIT_COLUMNS)


def covered_by_looped(case: Case) -> int:
    """Count the units that the loop computes: all of them."""
    return units(case)
