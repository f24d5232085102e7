"""The fallback of every quantized product: dequantize the matrix, then multiply."""

from collections.abc import Callable

import torch

_CHUNK_ELEMENTS = 1 << 24
"""Weights that are dequantized at a time: 64 MiB of float32, so that no matrix has to fit whole."""


def multiply(
    blocks: torch.Tensor,
    dequantize: Callable[[torch.Tensor], torch.Tensor],
    vectors: torch.Tensor,
    out: torch.Tensor,
) -> None:
    """Multiply any number of vectors with a quantized matrix in float32, some rows at a time.

    Args:
        blocks: [rows, blocks, bytes] uint8.
        dequantize: Computes the weights of some rows of blocks: [rows, blocks * 256] float32.
        vectors: [tokens, columns] of any float type; the last block of a row may reach beyond the columns.
        out: [tokens, rows] float32, written.
    """
    columns = vectors.shape[-1]
    step = max(1, _CHUNK_ELEMENTS // columns)
    wide = vectors.float()
    for first in range(0, len(blocks), step):
        rows = slice(first, first + step)
        out[:, rows] = wide @ dequantize(blocks[rows])[:, :columns].T
