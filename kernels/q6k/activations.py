"""The q8 activation format: 40 bytes for each 32 elements."""

import torch

from guardrail.kernels.q6k import geometry

_LARGEST_VALUE = 127


def assemble(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Put q8 groups together from their parts.

    Args:
        values: [units, 32] int8.
        scale: [units] float16.

    Returns:
        [units, 40] uint8.
    """
    groups = torch.zeros(len(values), geometry.ACTIVATION_BYTES, dtype=torch.uint8, device=values.device)
    groups[:, :2] = scale.unsqueeze(-1).view(torch.uint8)
    groups[:, geometry.ACTIVATION_VALUES_OFFSET : geometry.ACTIVATION_SUM_OFFSET] = values.view(torch.uint8)
    total = values.sum(dim=-1, keepdim=True, dtype=torch.int32)
    groups[:, geometry.ACTIVATION_SUM_OFFSET :] = total.view(torch.uint8)
    return groups


def quantize(vector: torch.Tensor) -> torch.Tensor:
    """Quantize a vector to q8: ``d = amax / 127`` in float16, ``q = clamp(rint(x / d))``.

    Args:
        vector: [columns] float, columns a multiple of 32.

    Returns:
        [columns / 32, 40] uint8.
    """
    groups = vector.float().view(-1, geometry.UNIT_ELEMENTS)
    scale = (groups.abs().amax(dim=-1) / _LARGEST_VALUE).to(torch.float16)
    factor = scale.float().unsqueeze(-1)
    values = torch.where(factor > 0, groups / factor, 0).round().clamp(-_LARGEST_VALUE, _LARGEST_VALUE)
    return assemble(values.to(torch.int8), scale)


def scales(groups: torch.Tensor) -> torch.Tensor:
    """View the scales of q8 groups, writable.

    Args:
        groups: [units, 40] uint8.

    Returns:
        [units] float16.
    """
    return groups.view(torch.float16)[:, 0]


def dequantize(groups: torch.Tensor) -> torch.Tensor:
    """Compute the vector that q8 groups stand for, exactly.

    Args:
        groups: [units, 40] uint8.

    Returns:
        [units * 32] float64.
    """
    value_bytes = groups[:, geometry.ACTIVATION_VALUES_OFFSET : geometry.ACTIVATION_SUM_OFFSET]
    values = value_bytes.contiguous().view(torch.int8).double()
    return (values * scales(groups).double().unsqueeze(-1)).flatten()
