"""The randomized Hadamard rotation of keys, values, queries and outputs, in torch.

A row is multiplied by random signs, then by an unnormalised Hadamard matrix, block by block. Quantizing it
costs less that way, because no element stands out any more. Rotated rows are longer by sqrt(block), so
that the product of two of them is larger by a factor of block, and so is a row rotated there and back.
"""

import torch

_SEED = 0x9E3779B9
"""Seed of the signs in vLLM's ``int4_per_token_head`` caches."""


def block_size(head_size: int) -> int:
    """Find the largest power of two that divides a head size: the rows of its Hadamard matrix."""
    return head_size & -head_size


def signs(head_size: int, device: str | torch.device = "cpu") -> torch.Tensor:
    """Draw the signs that cache and queries must share.

    Returns:
        1 or -1, fp32 [block_size(head_size)].
    """
    generator = torch.Generator().manual_seed(_SEED)
    heads = torch.bernoulli(torch.full([block_size(head_size)], 0.5), generator=generator)
    return (2 * heads - 1).to(device)


def rotate(rows: torch.Tensor) -> torch.Tensor:
    """Rotate rows in float64.

    Args:
        rows: [..., head size].

    Returns:
        float64 [..., head size].
    """
    blocks = rows.double().unflatten(-1, (-1, block_size(rows.shape[-1])))
    flipped = blocks * signs(rows.shape[-1], rows.device)
    return (flipped @ _hadamard(flipped)).flatten(-2)


def rotate_back(rows: torch.Tensor) -> torch.Tensor:
    """Undo `rotate`, length included.

    Args:
        rows: [..., head size].

    Returns:
        float64 [..., head size].
    """
    block = block_size(rows.shape[-1])
    blocks = rows.double().unflatten(-1, (-1, block))
    return (blocks @ _hadamard(blocks) * signs(rows.shape[-1], rows.device) / block).flatten(-2)


def _hadamard(blocks: torch.Tensor) -> torch.Tensor:
    """Build the matrix by Sylvester's construction."""
    matrix = blocks.new_ones(1, 1)
    step = blocks.new_tensor([[1, 1], [1, -1]])
    while len(matrix) < blocks.shape[-1]:
        matrix = torch.kron(step, matrix)
    return matrix
