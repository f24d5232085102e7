"""One pass: a program loads its row once, so the row must fit one tile."""

import triton
import triton.language as tl


@triton.jit
def rms_norm_one_pass(x, weight, output, columns, epsilon, tile: tl.constexpr):
    """Normalize one row a program.

    Args:
        x: [rows, columns] float32.
        weight: [columns] float32.
        output: [rows, columns] float32.
        columns: Columns of a row; those beyond `tile` are not touched.
        epsilon: Added to the mean of the squares.
        tile: Columns held at a time, a power of two.
    """
    row = tl.program_id(0).to(tl.int64) * columns
    column = tl.arange(0, tile)
    inside = column < columns
    values = tl.load(x + row + column, mask=inside, other=0.0)
    scale = tl.rsqrt(tl.sum(values * values) / columns + epsilon)
    weights = tl.load(weight + column, mask=inside, other=0.0)
    tl.store(output + row + column, values * scale * weights, mask=inside)
