"""How much a program computes in Triton's interpreter, whose time goes with programs, not their size."""

import triton

_MOST_ROWS = 64
BLOCKS = 512
"""Blocks that one program dequantizes."""
GROUPS = 1024
"""Groups that one program quantizes."""


def rows_per_program(rows: int) -> int:
    """Give the rows of a program: all of a small matrix.

    Args:
        rows: Rows of the matrix.
    """
    return min(_MOST_ROWS, triton.next_power_of_2(rows))
