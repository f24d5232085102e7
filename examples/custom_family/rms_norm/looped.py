"""Looped: a program goes over its row twice, tile by tile, so the row may have any length."""

import triton
import triton.language as tl


@triton.jit
def rms_norm_looped(x, weight, output, columns, epsilon, tile: tl.constexpr):
    """Normalize one row a program.

    Args:
        x: [rows, columns] float32.
        weight: [columns] float32.
        output: [rows, columns] float32.
        columns: Columns of a row.
        epsilon: Added to the mean of the squares.
        tile: Columns held at a time, a power of two.
    """
    row = tl.program_id(0).to(tl.int64) * columns
    squares = tl.zeros((tile,), dtype=tl.float32)
    for start in range(0, columns, tile):
        column = start + tl.arange(0, tile)
        values = tl.load(x + row + column, mask=column < columns, other=0.0)
        squares += values * values
    scale = tl.rsqrt(tl.sum(squares) / columns + epsilon)
    for start in range(0, columns, tile):
        column = start + tl.arange(0, tile)
        inside = column < columns
        values = tl.load(x + row + column, mask=inside, other=0.0)
        weights = tl.load(weight + column, mask=inside, other=0.0)
        tl.store(output + row + column, values * scale * weights, mask=inside)
