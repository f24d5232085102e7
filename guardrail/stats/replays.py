"""Runs that are copies of one another and so no independent samples."""

from collections.abc import Sequence
from dataclasses import dataclass

MINIMUM_LENGTH = 4
"""Shorter series repeat by chance where a clock is coarse."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A run whose series equals that of an earlier one, value for value."""

    run: int
    """Place of the run, from 0."""
    first: int
    """Place of the first run with the same series."""


def find_replays(runs: Sequence[Sequence[float]]) -> tuple[Replay, ...]:
    """Find runs that repeat an earlier one: measured times never agree to the last digit all along.

    Args:
        runs: The times or counters of each run in their order. A series shorter than `MINIMUM_LENGTH`, or of
            one value throughout, tells nothing and is passed over.

    Returns:
        Each replay with the run that it repeats, in the order of the runs.
    """
    seen: dict[tuple[float, ...], int] = {}
    found = []
    for place, series in enumerate(map(tuple, runs)):
        if len(series) < MINIMUM_LENGTH or len(set(series)) == 1:
            continue
        if series in seen:
            found.append(Replay(place, seen[series]))
        else:
            seen[series] = place
    return tuple(found)
