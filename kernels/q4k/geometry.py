"""The q4_K format and the launch geometry of its matrix-vector kernel: what the kernel is compiled with."""

from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS, GROUP_ELEMENTS

SUB_BLOCK_ELEMENTS = 32
"""Weights that share one q4_K scale and one minimum."""
SUB_BLOCKS = BLOCK_ELEMENTS // SUB_BLOCK_ELEMENTS
UNIT_ELEMENTS = 64
"""Weights in one work unit: two sub-blocks, the low and the high nibbles of the same bytes."""
UNITS_PER_BLOCK = BLOCK_ELEMENTS // UNIT_ELEMENTS
GROUPS_PER_UNIT = UNIT_ELEMENTS // GROUP_ELEMENTS

FACTORS_OFFSET = 0
"""Byte of a q4_K block where the f16 factors of its scales and of its minimums lie."""
SCALES_OFFSET = 4
"""Byte where 12 bytes hold eight scales and eight minimums of six bits."""
NIBBLES_OFFSET = 16
"""Byte where the weights start, 32 bytes a unit."""
BLOCK_BYTES = 144
"""Bytes from one block to the next."""
LARGEST_WEIGHT = 15
LARGEST_SCALE = 63

BLOCK_UNITS = 128
"""Units side by side in one tile of the kernel."""
ROWS = 1
"""Matrix rows that one program computes."""
WARPS = 4
"""Warps of one program."""
DEQUANTIZED_BLOCKS = 4
"""Blocks that one program dequantizes."""

LONGEST_ROW = 65_536
"""Longest row, in elements, that the gate is declared for."""
