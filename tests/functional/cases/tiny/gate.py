"""Rows of up to one tile go to the tile, longer ones to the loop."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from guardrail.families import Case, Choice, ModelProfile

from .limits import LONGEST, TILE  # noqa: TID252 - as a user's package may


def pick(case: Case) -> Choice:
    hang_where_asked()
    return Choice("tile" if units(case) <= int(os.environ.get("TINY_REACH", TILE)) else "loop")


def hang_where_asked() -> None:
    if marker := os.environ.get("TINY_HANG"):
        Path(marker).write_text(str(os.getpid()))
        time.sleep(600)


def units(case: Case) -> int:
    return int(case["n"])


def covered_by_tile(case: Case) -> int:
    return min(units(case), TILE)


def domain() -> Iterator[Case]:
    return ({"n": n} for n in range(1, LONGEST + 1))


def model_cases(model: ModelProfile) -> Iterator[Case]:
    yield {"n": model.layers or 1}
