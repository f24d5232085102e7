"""A gate of two arms over rows of 1 to 12 units, for probes that only read declarations."""

from collections.abc import Iterator

from guardrail.families import Arm, Case, Choice, Gate, ModelProfile, Operation, Plan

MODULE = __name__
TILE = 8
LONGEST = 12

OPERATION = Operation(
    name="sum",
    work_unit="unit",
    arms=(
        Arm("tile", ("sum_tile",), f"{MODULE}:covered_by_tile"),
        Arm("loop", ("sum_loop",), f"{MODULE}:units"),
    ),
    units=f"{MODULE}:units",
    exposing=f"{MODULE}:never_run",
    random=f"{MODULE}:never_run",
    cases=({"n": 3, "wide": True}, {"n": 10, "wide": True}),
    same_bits=(("tile", "loop"),),
)
GATE = Gate("pick", OPERATION, f"{MODULE}:pick", f"{MODULE}:domain", f"{MODULE}:model_cases")

SHORT = ModelProfile("short-model", 1, 8, 1, 1, 4, 10)
LONG = ModelProfile("long-model", 1, 11, 1, 1, 8, 10)
"""Models whose rows are as long as their hidden size."""


def units(case: Case) -> int:
    """Count a row's units."""
    return int(case["n"])


def covered_by_tile(case: Case) -> int:
    """Count the units in the only tile."""
    return min(units(case), TILE)


def domain() -> Iterator[Case]:
    """List every row, where wide loads are allowed and where they are not."""
    for wide in (True, False):
        for n in range(1, LONGEST + 1):
            yield {"n": n, "wide": wide}


def empty_domain() -> Iterator[Case]:
    """List nothing."""
    return iter(())


def short_domain() -> Iterator[Case]:
    """List what fits one tile."""
    return (case for case in domain() if units(case) <= TILE)


def pick(case: Case) -> Choice:
    """Take the tile where it covers the row."""
    if not case["wide"]:
        return Choice("loop", because="wide loads are off")
    return Choice("tile" if units(case) <= TILE else "loop")


def pick_beyond_the_tile(case: Case) -> Choice:
    """Take the tile for every row."""
    return Choice("tile" if case["wide"] else "loop", because="" if case["wide"] else "wide loads are off")


def pick_short_of_the_tile(case: Case) -> Choice:
    """Leave full tiles to the loop, and say nothing."""
    return Choice("loop") if units(case) == TILE else pick(case)


def pick_loop(case: Case) -> Choice:
    """Never take the tile."""
    return Choice("loop", because="the tile is off")


def pick_unknown(case: Case) -> Choice:
    """Name an arm that there is not."""
    return Choice("spiral")


def model_cases(model: ModelProfile) -> Iterator[Case]:
    """List one row as long as the model's hidden size."""
    yield {"n": model.hidden_size or 0, "wide": True}


def small(case: Case) -> bool:
    """Say which cases an interpreter can run."""
    return units(case) <= TILE


PLAN = Plan(
    "scratch", f"{MODULE}:configurations", f"{MODULE}:capacity", f"{MODULE}:demands", f"{MODULE}:row_bytes"
)


def configurations() -> Iterator[Case]:
    """List engines that admit 1, 2 and 4 sequences."""
    return ({"sequences": sequences} for sequences in (1, 2, 4))


def no_configurations() -> Iterator[Case]:
    """List nothing."""
    return iter(())


def capacity(configuration: Case) -> int:
    """Plan three rows a sequence."""
    return 3 * int(configuration["sequences"])


def capacity_of_two(configuration: Case) -> int:
    """Plan two rows, whatever is admitted."""
    return 2


def demands(configuration: Case) -> Iterator[tuple[str, int]]:
    """List batches of one to all sequences, each of which needs three rows."""
    for batch in range(1, int(configuration["sequences"]) + 1):
        yield str(batch), 3 * batch


def row_bytes(model: ModelProfile) -> int:
    """Count a row of float32."""
    return 4 * model.head_size
