"""The census of a run: which arm its calls took, in one small JSON file."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from guardrail.errors import MeasurementError

VERSION = 1
STOCK = "stock"
"""The arm of calls that the family's kernels do not serve."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Calls that were alike."""

    query_len: int
    """Query tokens of the call's longest sequence."""
    arm: str
    """The arm that ran."""
    reasons: tuple[str, ...]
    """Why it was not the fast one."""
    segments: int | None
    """Segments that sequences were divided into; None where the arm has none."""
    eligible: bool
    """Whether policy admits the calls to the fast arm."""
    calls: int


@dataclass(frozen=True, slots=True)
class CensusRecord:
    """Every call of a run, and its breaches: calls that policy admitted and a buffer could not hold."""

    taken: tuple[Taken, ...]
    breaches: int = 0
    degraded: bool = False
    """Whether there ever was a breach."""
    first_breach: Mapping[str, Any] | None = None

    @property
    def calls(self) -> int:
        """Count every call."""
        return sum(row.calls for row in self.taken)

    @property
    def missed(self) -> tuple[Taken, ...]:
        """Pick the calls that policy admits to the fast arm and that ran on the 2D arm."""
        return tuple(row for row in self.taken if row.eligible and row.arm == "2d")

    @property
    def left_to_stock(self) -> tuple[Taken, ...]:
        """Pick the calls that were left to the engine's own kernels."""
        return tuple(row for row in self.taken if row.arm == STOCK)

    @property
    def eligible_2d(self) -> int:
        """Count the calls that policy admits to the fast arm and that ran on the 2D arm."""
        return sum(row.calls for row in self.missed)


def dump_census(record: CensusRecord) -> str:
    """Write a census as JSON."""
    return json.dumps({"version": VERSION, **asdict(record)}, indent=2) + "\n"


def load_census(text: str, name: str) -> CensusRecord:
    """Read a census back.

    Args:
        text: What `dump_census` wrote.
        name: The file, for the message.

    Raises:
        MeasurementError: It is no census of this version.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MeasurementError(f"{name} is not JSON: {error}") from error
    if not isinstance(data, dict) or data.pop("version", None) != VERSION:
        raise MeasurementError(f"{name}: expected a census of version {VERSION}, written by a run")
    try:
        rows = tuple(Taken(**{**row, "reasons": tuple(row["reasons"])}) for row in data.pop("taken"))
        record = CensusRecord(rows, **data)
    except (TypeError, KeyError) as error:
        raise MeasurementError(
            f"{name}: a census of version {VERSION} holds something else: {error}"
        ) from error
    counts = (record.breaches, *(row.calls for row in rows), *(row.query_len for row in rows))
    if any(type(count) is not int or count < 0 for count in counts):
        raise MeasurementError(f"{name}: counts must be whole numbers, 0 or more")
    return record
