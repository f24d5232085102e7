"""Launch shapes of the attention kernels, shared by the launcher and by the anchored compilations."""

TILE = 32
"""Keys of one step."""
WARPS = 8
STAGES = 2
WRITE_WARPS = 1

_SMALLEST_ROWS = 16
"""Rows of the smallest matrix product."""
_LARGEST_ROWS = 64
_ACCUMULATED = 8192
"""Output elements of a program; with twice as many, a head size of 256 spills registers."""


def padded(size: int) -> int:
    """Round up to a power of two."""
    return 1 << (size - 1).bit_length()


def rows_of_program(query_rows: int, head_size: int) -> int:
    """Choose how many query rows one program takes.

    Args:
        query_rows: Query tokens of the longest sequence times the query heads of one KV head.
        head_size: Elements of a key.

    Returns:
        A power of two that holds all of them, where the registers do.
    """
    most = min(_LARGEST_ROWS, _ACCUMULATED // padded(head_size))
    return min(most, max(_SMALLEST_ROWS, padded(query_rows)))
