"""Launch shapes of the attention kernels, shared by the launcher and by the anchored compilations."""

from dataclasses import dataclass

WRITE_WARPS = 1
REDUCED_SEGMENTS = 32
"""Segments that the reduction reads in one step."""
REDUCED_DIMS = 64
"""Dimensions that one program of the reduction computes, unless it rotates them back: then all of them."""
REDUCTION_WARPS = 4
ROTATED_ROWS = 4
"""Heads that one program of the rotation takes."""

PROGRAMS_PER_PROCESSOR = 2
"""Programs of 64 rows that fit a multiprocessor's registers."""
SMALLEST_SEGMENT = 2
"""Tiles below which a segment's own cost, its partial result, outweighs what it takes off another."""

_SMALLEST_ROWS = 16
"""Rows of the smallest matrix product."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How one launch of an attention kernel is cut."""

    rows: int
    """Query rows of a program."""
    tile: int
    """Keys of one step; segments are multiples of it."""
    warps: int
    stages: int


HOPPER = (9, 0)
"""Compute capability of the GPUs whose tensor cores take 64 rows at once from shared memory."""


def rotated_reduction_warps(head_padded: int) -> int:
    """Choose the warps of a program that reduces one head's output and rotates it back.

    Inside of one warp a Hadamard transform exchanges numbers without a barrier, which saves 1% of a decode
    step of Qwen2.5-7B on an H200; a wide head's partial results do not fit its registers.

    Args:
        head_padded: Elements of a key, padded to a power of two.
    """
    return 1 if head_padded <= 128 else 8


def padded(size: int) -> int:
    """Round up to a power of two."""
    return 1 << (size - 1).bit_length()


def shape_of(capability: tuple[int, int], query_rows: int, head_size: int) -> Shape:
    """Choose a launch shape.

    Args:
        capability: Compute capability of the device.
        query_rows: Query tokens of the longest sequence times the query heads of one KV head.
        head_size: Elements of a key.

    Returns:
        The shape, with as many rows as there are, or as registers hold without spilling.
    """
    wide = padded(head_size) > 128
    rows = max(_SMALLEST_ROWS, padded(query_rows))
    if rows == _SMALLEST_ROWS:
        return Shape(rows, tile=64, warps=4, stages=3)
    if capability == HOPPER and rows > 32:
        # One warp group with 128 accumulators a thread, twice on an SM: while one waits, the other computes.
        # A tile of 64 keys takes fewer instructions for each, and spills where the head is wide. Five stages
        # read two tiles ahead, because a tile's address comes out of the block table first.
        return Shape(64, tile=32 if wide else 64, warps=4, stages=5)
    # Accumulators and operands of the older instructions both live in registers, which 64 rows spill.
    return Shape(min(32, rows), tile=64, warps=8 if wide else 4, stages=3)
