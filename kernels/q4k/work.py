"""What a q4_K product must read and compute."""

from guardrail.families.interface import Case, Work
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS, GROUP_BYTES, GROUP_ELEMENTS
from guardrail.kernels.q4k import geometry

_OUTPUT_BYTES = 4


def work(case: Case, arm: str) -> Work:
    """Count the bytes and operations of one product.

    Args:
        case: Axes ``id``, the elements of a row, and ``rows``.
        arm: Name of the arm; all of them read blocks as files hold them.

    Returns:
        Content and streamed: every block once, the vector and the product. Operations: one multiplication and
        one addition a weight.
    """
    rows, row_length = int(case["rows"]), int(case["id"])
    vector = row_length // GROUP_ELEMENTS * GROUP_BYTES
    moved = rows * (row_length // BLOCK_ELEMENTS * geometry.BLOCK_BYTES + _OUTPUT_BYTES) + vector
    return Work(content_bytes=moved, streamed_bytes=moved, operations=2 * rows * row_length)
