"""The Hadamard transform of rows that a program holds."""

import triton
import triton.language as tl

LARGEST_BLOCK = 256
_STAGES = tl.constexpr(LARGEST_BLOCK.bit_length() - 1)


@triton.jit
def hadamard(rows, BLOCK: tl.constexpr):
    """Multiply every block of each row by an unnormalised Hadamard matrix.

    The sums are those of the butterfly, pairs of neighbours first, so that they round as its do.

    Args:
        rows: fp32 [rows, columns], columns a power of two.
        BLOCK: Rows of the matrix, a power of two.

    Returns:
        fp32 [rows, columns].
    """
    for stage in tl.static_range(_STAGES):
        if (1 << stage) < BLOCK:
            pairs = tl.reshape(rows, [rows.shape[0], rows.shape[1] >> (stage + 1), 2, 1 << stage])
            first, second = tl.split(tl.trans(pairs, (0, 1, 3, 2)))
            pairs = tl.trans(tl.join(first + second, first - second), (0, 1, 3, 2))
            rows = tl.reshape(pairs, [rows.shape[0], rows.shape[1]])
    return rows
