"""What each arm computes of a case, in 64-element units: read from how kernels are built, not the gate."""

from guardrail.families.interface import Case
from guardrail.kernels.q4k import geometry

_LONGEST_INTERPRETED_ROW = 20_480
"""Elements; above the rows of the bundled models. The longest declared row takes seconds there."""


def units(case: Case) -> int:
    """Count the units of one row."""
    return int(case["id"]) // geometry.UNIT_ELEMENTS


def covered_by_dequantized(case: Case) -> int:
    """Count the units that the fallback computes: all, for any number of tokens."""
    return units(case)


def covered_by_mmvq(case: Case) -> int:
    """Count the units that the looping arm computes: all of one token."""
    return units(case) if int(case.get("tokens", 1)) == 1 else 0


def interpretable(case: Case) -> bool:
    """Say whether the case is small enough for Triton's interpreter."""
    return int(case["id"]) <= _LONGEST_INTERPRETED_ROW
