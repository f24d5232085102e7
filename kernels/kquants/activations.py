"""The q8 activation format: 40 bytes for each 32 elements."""

import torch
import triton

from guardrail.kernels.kquants import geometry, interpreted
from guardrail.kernels.kquants.quantize_q8 import quantize_q8


def empty(tokens: int, columns: int, device: torch.device | str) -> torch.Tensor:
    """Allocate the q8 groups of some vectors.

    Args:
        tokens: Number of vectors.
        columns: Elements of each.
        device: Where to allocate.

    Returns:
        [tokens, columns / 32, 40] uint8, uninitialised.
    """
    shape = (tokens, columns // geometry.GROUP_ELEMENTS, geometry.GROUP_BYTES)
    return torch.empty(shape, dtype=torch.uint8, device=device)


def assemble(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Put q8 groups together from their parts.

    Args:
        values: [..., units, 32] int8.
        scale: [..., units] float16.

    Returns:
        [..., units, 40] uint8.
    """
    shape = (*values.shape[:-1], geometry.GROUP_BYTES)
    groups = torch.zeros(shape, dtype=torch.uint8, device=values.device)
    groups[..., :2] = scale.unsqueeze(-1).view(torch.uint8)
    groups[..., geometry.GROUP_VALUES_OFFSET : geometry.GROUP_SUM_OFFSET] = values.view(torch.uint8)
    total = values.sum(dim=-1, keepdim=True, dtype=torch.int32)
    groups[..., geometry.GROUP_SUM_OFFSET :] = total.view(torch.uint8)
    return groups


def quantize(vector: torch.Tensor) -> torch.Tensor:
    """Quantize vectors to q8 in torch: ``d = amax / 127`` in float16, ``q = clamp(rint(x / d))``.

    A group with a NaN has a NaN for its scale, and one beyond float16 has infinity; its values are 0.

    Args:
        vector: [..., columns] float, columns a multiple of 32.

    Returns:
        [..., columns / 32, 40] uint8.
    """
    groups = vector.float().unflatten(-1, (-1, geometry.GROUP_ELEMENTS))
    largest = groups.abs().amax(dim=-1)
    # By a number, torch multiplies with the reciprocal on CUDA, and rounds twice; by a tensor, it divides.
    scale = (largest / torch.full_like(largest, geometry.LARGEST_VALUE)).to(torch.float16)
    factor = scale.float().unsqueeze(-1)
    usable = (factor > 0) & factor.isfinite()
    values = torch.where(usable, groups / factor, 0).round()
    values = values.clamp(-geometry.LARGEST_VALUE, geometry.LARGEST_VALUE)
    return assemble(values.to(torch.int8), scale)


def quantize_into(vector: torch.Tensor, groups: torch.Tensor) -> None:
    """Quantize vectors to q8 in one launch, to the very bytes that `quantize` gives.

    Args:
        vector: [..., columns] float16, bfloat16 or float32, contiguous, columns a multiple of 32.
        groups: [..., columns / 32, 40] uint8, contiguous, written.

    Raises:
        ValueError: The groups are not those of the vector's shape, or a tensor is not contiguous.
    """
    *vectors, columns = vector.shape
    expected = (*vectors, columns // geometry.GROUP_ELEMENTS, geometry.GROUP_BYTES)
    if columns % geometry.GROUP_ELEMENTS or groups.shape != expected:
        raise ValueError(
            f"a vector of shape {tuple(vector.shape)} has no groups of shape {tuple(groups.shape)}; "
            f"expected {expected} and columns in multiples of {geometry.GROUP_ELEMENTS}"
        )
    if not (vector.is_contiguous() and groups.is_contiguous()):
        raise ValueError("the vector and its groups must be contiguous: they are read and written as one row")
    count = vector.numel() // geometry.GROUP_ELEMENTS
    per_program = geometry.QUANTIZED_GROUPS if vector.is_cuda else interpreted.GROUPS
    grid = (triton.cdiv(count, per_program),)
    quantize_q8[grid](vector, groups, count, GROUPS=per_program, num_warps=geometry.QUANTIZE_WARPS)


def scales(groups: torch.Tensor) -> torch.Tensor:
    """View the scales of q8 groups, writable.

    Args:
        groups: [..., units, 40] uint8.

    Returns:
        [..., units] float16.
    """
    return groups.view(torch.float16)[..., 0]


def dequantize(groups: torch.Tensor, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Compute the vectors that q8 groups stand for, exactly: 7 bits times 11 fit float32.

    Args:
        groups: [..., units, 40] uint8.
        dtype: float64 or float32.

    Returns:
        [..., units * 32] of that type.
    """
    value_bytes = groups[..., geometry.GROUP_VALUES_OFFSET : geometry.GROUP_SUM_OFFSET]
    values = value_bytes.contiguous().view(torch.int8).to(dtype)
    return (values * scales(groups).to(dtype).unsqueeze(-1)).flatten(-2)
