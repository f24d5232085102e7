"""When prefetching into L2 can pay at all: arithmetic that comes before any kernel is built.

A loop over a row that fetches two iterations ahead, as llama.cpp's does, has something to fetch only where a
row is longer than those two iterations.
"""

_WARP = 32
_ITERATIONS_AHEAD = 2


def blocks_per_iteration(warps: int, lanes_per_block: int) -> int:
    """Count the blocks that one iteration of a loop over a row takes.

    Args:
        warps: Warps that share a row.
        lanes_per_block: Lanes that take one block together; llama.cpp's take q4_K and q6_K by eight.
    """
    return warps * _WARP // lanes_per_block


def can_prefetch(row_blocks: int, iteration_blocks: int) -> bool:
    """Say whether anything of a row is left to fetch two iterations ahead: ``bpr > 2 * bpi``.

    Args:
        row_blocks: 256-element blocks of a row, *bpr*.
        iteration_blocks: Blocks of one iteration, *bpi*.
    """
    return row_blocks > _ITERATIONS_AHEAD * iteration_blocks
