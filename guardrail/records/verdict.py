"""What a rule decided."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """The five outcomes of a guard. Undecided and error never count as a pass."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    SKIPPED = "skipped"
    ERROR = "error"


_WORST_FIRST = (Status.FAIL, Status.ERROR, Status.UNDECIDED, Status.PASS, Status.SKIPPED)


def worst(statuses: "list[Status]") -> Status:
    """Pick the status that decides for a group; a group of nothing is an error."""
    return next((status for status in _WORST_FIRST if status in statuses), Status.ERROR)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bound applied to one measurement."""

    status: Status
    code: str
    """Stable identifier of the reason, for machines: ``above-ceiling``."""
    sentence: str
    metric: str = ""
    unit: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    measured: float | int | None = None
    bound: str = ""
    """The bound in words: ``at most 0``, ``at least 3``, ``exactly 396288``."""
    excess: float | int | None = None
    """How far the measurement lies beyond the bound, in the metric's unit; None where it does not."""
    evidence: tuple[str, ...] = ()
    line: int | None = None
    """Line of the bound in the guards file."""
