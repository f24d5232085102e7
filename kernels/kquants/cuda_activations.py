"""What CUDA C++ products take activations from: q8 groups, or halves that they quantize themselves."""

import torch

from guardrail.kernels.kquants import geometry
from guardrail.kernels.kquants.cuda_module import Macros


def columns_of(activations: torch.Tensor) -> int:
    """Count the elements of the vector.

    Args:
        activations: [units, 40] uint8 q8 groups, or [columns] float16.
    """
    units = activations.numel() // geometry.GROUP_BYTES
    return units * geometry.GROUP_ELEMENTS if activations.dtype == torch.uint8 else activations.numel()


def macros_of(activations: torch.Tensor) -> Macros:
    """Give what a kernel is compiled with to read them.

    Args:
        activations: As in `columns_of`.
    """
    return (("HALF_VECTOR", 1),) if activations.dtype == torch.float16 else ()


def check(activations: torch.Tensor) -> None:
    """Refuse a tensor that is neither q8 groups nor halves.

    Args:
        activations: As in `columns_of`.

    Raises:
        ValueError: It has another type, other groups, or is not contiguous.
    """
    groups = activations.dtype == torch.uint8 and activations.shape[-1] == geometry.GROUP_BYTES
    if not ((groups or activations.dtype == torch.float16) and activations.is_contiguous()):
        raise ValueError(
            f"activations: {activations.dtype} of shape {tuple(activations.shape)} and strides "
            f"{activations.stride()}; expected contiguous float16, or uint8 groups of "
            f"{geometry.GROUP_BYTES} bytes"
        )
