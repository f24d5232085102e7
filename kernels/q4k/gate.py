"""Which kernel computes a q4_K product.

A case has the axes ``id`` (row length in elements), ``tokens``, ``rows`` and ``threshold``.
"""

from collections.abc import Iterator

from guardrail.families.interface import Case, Choice
from guardrail.families.models import ModelProfile
from guardrail.kernels.kquants.gate import fallback
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS, MATVEC_THRESHOLD
from guardrail.kernels.q4k import geometry

_THRESHOLD_ROWS = (320, 2048, 5120)
"""Row lengths for which the domain lists both sides of the threshold."""


def pick(case: Case) -> Choice:
    """Pick the looping arm, or the fallback where it does not serve.

    Args:
        case: Axes as above.
    """
    return fallback(case, geometry.UNIT_ELEMENTS) or Choice("mmvq")


def domain() -> Iterator[Case]:
    """List both sides of the threshold, then every row length up to the longest declared one.

    A matrix may have any number of rows, so they are listed only where they decide.
    """
    for row_length in _THRESHOLD_ROWS:
        enough = -(-MATVEC_THRESHOLD // row_length)
        for rows in (enough - 1, enough):
            for tokens in (1, 2):
                yield _case(row_length, rows, MATVEC_THRESHOLD, tokens)
    for row_length in range(geometry.UNIT_ELEMENTS, geometry.LONGEST_ROW + 1, geometry.UNIT_ELEMENTS):
        yield _case(row_length, rows=1, threshold=0)


def whole_block_domain() -> Iterator[Case]:
    """List the cases of the domain whose rows end with a block: those that the CUDA C++ arm serves."""
    return (case for case in domain() if int(case["id"]) % BLOCK_ELEMENTS == 0)


def model_cases(model: ModelProfile) -> Iterator[Case]:
    """List a case for each distinct shape of a model's q4_K tensors.

    Args:
        model: Geometry whose tensors of quantization ``q4_k`` are looked at.
    """
    shapes = {(tensor.columns, tensor.rows) for tensor in model.tensors if tensor.quantization == "q4_k"}
    for row_length, rows in sorted(shapes):
        yield _case(row_length, rows, MATVEC_THRESHOLD)


def _case(row_length: int, rows: int, threshold: int, tokens: int = 1) -> Case:
    return {"id": row_length, "tokens": tokens, "rows": rows, "threshold": threshold}
