"""What a q6_K product must read and compute."""

from guardrail.families.interface import Case, Work
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS, GROUP_BYTES, GROUP_ELEMENTS
from guardrail.kernels.q6k import geometry
from guardrail.kernels.q6k.gate import PLANE_ARMS

_OUTPUT_BYTES = 4


def work(case: Case, arm: str) -> Work:
    """Count the bytes and operations of one product.

    Args:
        case: Axes ``id``, the elements of a row, and ``rows``.
        arm: Name of the arm; one on dense planes streams rows of 210 bytes a block, rounded up to 16, the
            others blocks of 224.

    Returns:
        Content: every block once at its 210 bytes, the vector and the product. Streamed: the same with the
        padding of the arm's layout. Operations: one multiplication and one addition a weight.
    """
    rows, row_length = int(case["rows"]), int(case["id"])
    row_blocks = row_length // BLOCK_ELEMENTS
    vector = row_length // GROUP_ELEMENTS * GROUP_BYTES
    ends = vector + rows * _OUTPUT_BYTES
    content_row = row_blocks * geometry.RAW_BLOCK_BYTES
    streamed_row = (
        geometry.plane_row_bytes(row_blocks)
        if arm in PLANE_ARMS
        else row_blocks * geometry.PADDED_BLOCK_BYTES
    )
    return Work(
        content_bytes=rows * content_row + ends,
        streamed_bytes=rows * streamed_row + ends,
        operations=2 * rows * row_length,
    )
