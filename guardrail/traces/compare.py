"""What changed from one trace to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from guardrail.traces.summary import Row


class ChangeKind(StrEnum):
    """What became of a kernel, copy or fill."""

    APPEARED = "appeared"
    VANISHED = "vanished"
    SLOWER = "slower"
    """Takes more time in total."""
    FASTER = "faster"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class TraceChange:
    """One row of two tables."""

    name: str
    old: Row | None
    new: Row | None

    @property
    def delta_ns(self) -> float:
        """Time gained in total, negative where it was lost."""
        return (self.new.total_ns if self.new else 0.0) - (self.old.total_ns if self.old else 0.0)

    @property
    def kind(self) -> ChangeKind:
        """What became of it."""
        if self.old is None:
            return ChangeKind.APPEARED
        if self.new is None:
            return ChangeKind.VANISHED
        if self.delta_ns == 0:
            return ChangeKind.SAME
        return ChangeKind.SLOWER if self.delta_ns > 0 else ChangeKind.FASTER


def compare_rows(old: Sequence[Row], new: Sequence[Row]) -> list[TraceChange]:
    """Pair rows by kind and name, the largest change of time first, in either direction."""
    before, after = ({(row.kind, row.name): row for row in rows} for rows in (old, new))
    changes = [TraceChange(key[1], before.get(key), after.get(key)) for key in before | after]
    return sorted(changes, key=lambda change: (-abs(change.delta_ns), change.name))
