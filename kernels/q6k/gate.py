"""Which kernel computes a q6_K row of a given length.

A case has the axes ``id`` (row length in elements, a multiple of 256), ``pipelined`` (whether v2_pf is
allowed) and, where it is not the production geometry, ``block_units``.
"""

from collections.abc import Iterator

from guardrail.families.interface import Case, Choice
from guardrail.families.models import ModelProfile
from guardrail.kernels.q6k import geometry, knob


def pick(case: Case) -> Choice:
    """Pick v2_pf for rows that fill more than one of its tiles and at most all of them, v2 for every other.

    Args:
        case: Axes ``id``, ``pipelined`` and optionally ``block_units``.
    """
    row_length = int(case["id"])
    block_units = int(case.get("block_units", geometry.BLOCK_UNITS))
    if not case["pipelined"]:
        return Choice("v2", because=f"{knob.PIPELINED} is off")
    if row_length <= geometry.tile_elements(block_units):
        return Choice("v2", because="the row fits one tile: v2_pf would load a second, empty one")
    if row_length > geometry.pipelined_reach(block_units):
        return Choice("v2")
    return Choice("v2_pf")


def domain() -> Iterator[Case]:
    """List every row length up to the longest declared one, with v2_pf allowed and not."""
    for pipelined in (True, False):
        for row_length in range(geometry.BLOCK_ELEMENTS, geometry.LONGEST_ROW + 1, geometry.BLOCK_ELEMENTS):
            yield {"id": row_length, "pipelined": pipelined}


def model_cases(model: ModelProfile) -> Iterator[Case]:
    """List one case for each distinct length of a model's q6_K rows.

    Args:
        model: Geometry whose tensors of quantization ``q6_k`` are looked at.
    """
    lengths = {tensor.columns for tensor in model.tensors if tensor.quantization == "q6_k"}
    for row_length in sorted(lengths):
        yield {"id": row_length, "pipelined": True}
