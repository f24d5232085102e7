"""What the kernels are compiled with; the gate reads its bound from the same names."""

TILE = 4096
"""Columns that a program holds at a time; `rms_norm_one_pass` covers no row that is longer."""
WARPS = 8
"""Warps of one program."""
EPSILON = 1e-6
"""Added to the mean of the squares."""

UNIT_COLUMNS = 64
"""Columns of one work unit; row lengths are multiples of it."""
LONGEST_ROW = 16_384
"""Longest row, in columns, that the gate is declared for."""
