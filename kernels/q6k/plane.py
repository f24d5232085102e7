"""The dense split plane: a row's low bits, then its high bits, scales and factors, without any padding."""

import torch

from guardrail.kernels.q6k import geometry

_PARTS = (
    slice(geometry.QL_OFFSET, geometry.QH_OFFSET),
    slice(geometry.QH_OFFSET, geometry.SCALES_OFFSET),
    slice(geometry.SCALES_OFFSET, geometry.SUPER_SCALE_OFFSET),
    slice(geometry.SUPER_SCALE_OFFSET, geometry.RAW_BLOCK_BYTES),
)


def split(blocks: torch.Tensor) -> torch.Tensor:
    """Lay q6_K blocks out as a dense split plane.

    Args:
        blocks: [rows, blocks, 210 or 224] uint8.

    Returns:
        [rows, bytes] uint8, a row padded with zeros to a multiple of 16 bytes.
    """
    rows, row_blocks, _ = blocks.shape
    plane = torch.zeros(rows, geometry.plane_row_bytes(row_blocks), dtype=torch.uint8, device=blocks.device)
    for part in _PARTS:
        width = part.stop - part.start
        target = plane[:, part.start * row_blocks : part.stop * row_blocks]
        target.view(rows, row_blocks, width).copy_(blocks[..., part])
    return plane
