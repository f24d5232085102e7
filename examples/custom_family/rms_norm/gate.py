"""Which kernel normalizes a row of a given length. A case has one axis, ``columns``."""

from collections.abc import Iterator

from guardrail.families import Case, Choice, ModelProfile
from rms_norm import geometry


def pick(case: Case) -> Choice:
    """Pick one pass for every row that fits its tile, and the loop for longer ones."""
    if int(case["columns"]) > geometry.TILE:
        return Choice("looped")
    return Choice("one_pass")


def domain() -> Iterator[Case]:
    """List every row length up to the longest declared one."""
    for columns in range(geometry.UNIT_COLUMNS, geometry.LONGEST_ROW + 1, geometry.UNIT_COLUMNS):
        yield {"columns": columns}


def model_cases(model: ModelProfile) -> Iterator[Case]:
    """Give the one row length that a model normalizes: its hidden size, where that is known."""
    if model.hidden_size is not None:
        yield {"columns": model.hidden_size}
