"""Which arm computes a q6_K product of this decoder, and the cases that its gate is asked."""

from collections.abc import Iterator

from guardrail.families import Case, Choice, ModelProfile
from guardrail.kernels.kquants.gate import fallback
from guardrail.kernels.q6k import geometry

ONE_LAYER_TILE = 32
"""Units in a tile of the model that is decoded in the interpreter."""
_LONGEST_INTERPRETED_ROW = 4096


def pick(case: Case) -> Choice:
    """Send rows of more than one tile to the pipelined arm, which has a second tile on its way."""
    if unserved := fallback(case, geometry.UNIT_ELEMENTS):
        return unserved
    row_length = int(case["id"])
    block_units = int(case.get("block_units", geometry.BLOCK_UNITS))
    arm = "v2_pf" if row_length > geometry.tile_elements(block_units) else "v2"
    return Choice(f"{arm}_dpl" if case["layout"] == "plane" else arm)


def domain() -> Iterator[Case]:
    """List the row lengths from one block to beyond Qwen2.5-7B's longest."""
    for row_length in range(geometry.BLOCK_ELEMENTS, 20_480, geometry.BLOCK_ELEMENTS):
        yield _case(row_length)


def model_cases(model: ModelProfile) -> Iterator[Case]:
    """List the lengths of a model's q6_K rows, with the tile that its engine is compiled with."""
    tile = {"block_units": ONE_LAYER_TILE} if model.name == "one-layer" else {}
    for row_length in sorted({tensor.columns for tensor in model.tensors if tensor.quantization == "q6_k"}):
        yield _case(row_length) | tile


def interpretable(case: Case) -> bool:
    """Say whether a row is short enough for Triton's interpreter."""
    return int(case["id"]) <= _LONGEST_INTERPRETED_ROW


def _case(row_length: int) -> dict[str, int | bool | str]:
    return {
        "id": row_length,
        "layout": "plane",
        "pipelined": True,
        "tokens": 1,
        "rows": 1,
        "threshold": 0,
    }
