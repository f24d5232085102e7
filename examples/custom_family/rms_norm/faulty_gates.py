"""Gates with one deliberate defect each."""

from collections.abc import Iterator

from guardrail.families import Case, Choice
from rms_norm import gate, geometry


def pick_without_bound(case: Case) -> Choice:
    """Send every row through one pass."""
    return Choice("one_pass")


def pick_always_looped(case: Case) -> Choice:
    """Send every row through the loop, and state no reason."""
    return Choice("looped")


def domain_of_one_tile() -> Iterator[Case]:
    """List only the rows that fit one tile."""
    for case in gate.domain():
        if int(case["columns"]) <= geometry.TILE:
            yield case
