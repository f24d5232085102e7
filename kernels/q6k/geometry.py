"""The q6_K format and the launch geometry of its matrix-vector kernels: what the kernels are compiled with.

The gate derives its bounds from the same names, so a kernel cannot change what it covers alone.
"""

from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS

HALF_ELEMENTS = 16
"""Weights that share one q6_K scale."""
UNIT_ELEMENTS = 32
"""Weights in one work unit: two halves, one q8 activation group."""
UNITS_PER_BLOCK = BLOCK_ELEMENTS // UNIT_ELEMENTS
HALVES_PER_BLOCK = BLOCK_ELEMENTS // HALF_ELEMENTS

QL_OFFSET = 0
"""Byte of a q6_K block where the low four bits of its weights start."""
QH_OFFSET = 128
"""Byte where the high two bits start."""
SCALES_OFFSET = 192
"""Byte where the 16 signed scales start."""
SUPER_SCALE_OFFSET = 208
"""Byte of the f16 factor common to the block's scales."""
RAW_BLOCK_BYTES = 210
"""Bytes from one block to the next as files hold them."""
PADDED_BLOCK_BYTES = 224
"""Bytes from one block to the next as v2 and v2_pf need them: a multiple of a 16-byte load."""
PLANE_ALIGNMENT = 16
"""Bytes that a row of a dense split plane is a multiple of."""
WEIGHT_BIAS = 32
"""What is subtracted from a weight's six bits."""

BLOCK_UNITS = 256
"""Units side by side in one tile of v2 and v2_pf."""
UNITS_PER_LANE = 2
"""Units that each lane of v2_pf computes, one from each of its tiles; it has no loop to take more."""
ROWS = 1
"""Matrix rows that one program of v2 and v2_pf computes."""
WARPS = 4
"""Warps of one program."""
V1_BLOCK_HALVES = 256
"""16-element units in one tile of v1."""
DEQUANTIZED_BLOCKS = 4
"""Blocks that one program dequantizes."""

LONGEST_ROW = 65_536
"""Longest row, in elements, that the gate is declared for."""


def tile_elements(block_units: int) -> int:
    """Count the elements of a row that one tile holds.

    Args:
        block_units: Units side by side in the tile.
    """
    return block_units * UNIT_ELEMENTS


def pipelined_reach(block_units: int) -> int:
    """Give the longest row, in elements, that v2_pf computes completely.

    Args:
        block_units: Units side by side in each of its tiles.
    """
    return UNITS_PER_LANE * tile_elements(block_units)


def plane_row_bytes(row_blocks: int) -> int:
    """Count the bytes from one row of a dense split plane to the next.

    Args:
        row_blocks: q6_K blocks of a row.
    """
    return -(-row_blocks * RAW_BLOCK_BYTES // PLANE_ALIGNMENT) * PLANE_ALIGNMENT
