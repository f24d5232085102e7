"""Which kernel computes a q6_K product.

A case has the axes ``id`` (row length in elements), ``layout`` (``raw``: blocks of 210 bytes; ``padded``:
blocks of 224; ``plane``: padded blocks and a dense split plane), ``pipelined`` (whether the pipelined arms
are allowed), ``tokens``, ``rows``, ``threshold`` and, where it is not that of production, ``block_units``.
"""

from collections.abc import Iterator

from guardrail.families.interface import Case, Choice
from guardrail.families.models import ModelProfile
from guardrail.kernels.kquants.gate import fallback
from guardrail.kernels.kquants.geometry import MATVEC_THRESHOLD
from guardrail.kernels.q6k import geometry, knob

PLANE_ARMS = ("v2_dpl", "v2_pf_dpl")
LAYOUTS = ("raw", "padded", "plane")
_NOT_PADDED = "the blocks are not padded, and the faster arms read 16 bytes at a time"
_THRESHOLD_ROWS = ((288, "raw"), (2048, "padded"), (5120, "plane"))
"""Row lengths and layouts for which the domain lists both sides of the threshold."""


def pick(case: Case) -> Choice:
    """Pick the fallback, v1, or of v2 and v2_pf the one for the row's length and layout.

    v2_pf takes rows that fill more than one of its tiles and at most all of them, v2 every other; where there
    is a dense split plane, their twins read that.

    Args:
        case: Axes as above.
    """
    if unserved := fallback(case, geometry.UNIT_ELEMENTS):
        return unserved
    row_length = int(case["id"])
    if row_length % geometry.BLOCK_ELEMENTS:
        return Choice("v1", because="the row ends within a block")
    if case["layout"] == "raw":
        return Choice("v1", because=_NOT_PADDED)
    suffix = "_dpl" if case["layout"] == "plane" else ""
    block_units = int(case.get("block_units", geometry.BLOCK_UNITS))
    if not case["pipelined"]:
        return Choice("v2" + suffix, because=f"{knob.PIPELINED} is off")
    if row_length <= geometry.tile_elements(block_units):
        return Choice("v2" + suffix, because="the row fits one tile: v2_pf would load a second, empty one")
    if row_length > geometry.pipelined_reach(block_units):
        return Choice("v2" + suffix)
    return Choice("v2_pf" + suffix)


def pick_v1(case: Case) -> Choice:
    """Send every product that a matrix-vector arm serves to v1, an engine's reference: it covers any row.

    Args:
        case: Axes as above.
    """
    return fallback(case, geometry.UNIT_ELEMENTS) or Choice("v1", because="the reference arm is forced")


def domain() -> Iterator[Case]:
    """List both sides of the threshold, then every row length up to the longest declared one in every layout.

    A matrix may have any number of rows, so they are listed only where they decide.
    """
    for row_length, layout in _THRESHOLD_ROWS:
        enough = -(-MATVEC_THRESHOLD // row_length)
        for rows in (enough - 1, enough):
            for tokens in (1, 2):
                yield _case(row_length, layout, True, rows, MATVEC_THRESHOLD, tokens)
    for layout in LAYOUTS:
        step = geometry.UNIT_ELEMENTS if layout == "raw" else geometry.BLOCK_ELEMENTS
        for pipelined in (True, False):
            for row_length in range(step, geometry.LONGEST_ROW + 1, step):
                yield _case(row_length, layout, pipelined, rows=1, threshold=0)


def model_cases(model: ModelProfile) -> Iterator[Case]:
    """List a case for each distinct shape of a model's q6_K tensors, in each layout that an engine may hold.

    Args:
        model: Geometry whose tensors of quantization ``q6_k`` are looked at.
    """
    shapes = {(tensor.columns, tensor.rows) for tensor in model.tensors if tensor.quantization == "q6_k"}
    for row_length, rows in sorted(shapes):
        for layout in LAYOUTS[1:]:
            yield _case(row_length, layout, True, rows, MATVEC_THRESHOLD)


def _case(row_length: int, layout: str, pipelined: bool, rows: int, threshold: int, tokens: int = 1) -> Case:
    return {
        "id": row_length,
        "layout": layout,
        "pipelined": pipelined,
        "tokens": tokens,
        "rows": rows,
        "threshold": threshold,
    }
