"""Gates of q6_K products, and the cases that a decoding model needs."""

from collections.abc import Iterator

from guardrail.families import Case, Choice, ModelProfile
from guardrail.kernels.q6k import gate, geometry

TINY_TILE = 32
"""Units in a tile for models that are decoded in the interpreter."""


def pick_unbounded(case: Case) -> Choice:
    """Send every row of more than one tile to the pipelined arm, which has no loop to take more than two."""
    choice = gate.pick(case)
    block_units = int(case.get("block_units", geometry.BLOCK_UNITS))
    fits_one_tile = int(case["id"]) <= geometry.tile_elements(block_units)
    if fits_one_tile or choice.arm not in ("v2", "v2_dpl"):
        return choice
    return Choice(choice.arm.replace("v2", "v2_pf"))


def domain() -> Iterator[Case]:
    """List the row lengths from one block to beyond Qwen2.5-7B's longest."""
    for row_length in range(geometry.BLOCK_ELEMENTS, 20_480, geometry.BLOCK_ELEMENTS):
        yield _case(row_length)


def model_cases(model: ModelProfile) -> Iterator[Case]:
    """List the lengths of a model's q6_K rows, with the tile that its engine is compiled with."""
    for row_length in sorted({tensor.columns for tensor in model.tensors if tensor.quantization == "q6_k"}):
        tile = block_units(model)
        yield _case(row_length) | ({} if tile is None else {"block_units": tile})


def block_units(model: ModelProfile) -> int | None:
    """Give the tile of a model's engine; None for the one that is shipped."""
    return TINY_TILE if model.name == "tiny-decode" else None


def _case(row_length: int) -> dict[str, int | bool | str]:
    return {
        "id": row_length,
        "layout": "plane",
        "pipelined": True,
        "tokens": 1,
        "rows": 1,
        "threshold": 0,
    }
