"""What CUDA C++ products read and write beside weights: what they are compiled and launched with for it."""

from dataclasses import dataclass

import torch

from guardrail.kernels.kquants import geometry
from guardrail.kernels.kquants.cuda_module import Argument, Macros
from guardrail.kernels.kquants.residual_stream import ResidualStream, UnnormalizedGroups

Activations = torch.Tensor | UnnormalizedGroups
Destination = torch.Tensor | ResidualStream


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a product."""

    elements: int
    """Columns of the product, or rows."""
    macros: Macros
    arguments: tuple[Argument, ...]


def columns_of(activations: Activations) -> int:
    """Count the elements of a vector.

    Args:
        activations: uint8 [units, 40] q8 groups, or unnormalized ones.
    """
    if isinstance(activations, UnnormalizedGroups):
        return activations.squares.numel() * geometry.GROUP_ELEMENTS
    return activations.numel() // geometry.GROUP_BYTES * geometry.GROUP_ELEMENTS


def rows_of(destination: Destination) -> int:
    """Count the rows of a product.

    Args:
        destination: fp32 [rows], or a residual stream.
    """
    return (destination.residual if isinstance(destination, ResidualStream) else destination).numel()


def read(activations: Activations) -> Operand:
    """Describe the activations of a product.

    Args:
        activations: As in `columns_of`.

    Raises:
        ValueError: They have another type, other groups, or are not contiguous.
    """
    columns = columns_of(activations)
    groups = columns // geometry.GROUP_ELEMENTS
    if not isinstance(activations, UnnormalizedGroups):
        whole = groups if activations.shape[-1] == geometry.GROUP_BYTES else 0
        check("activations", activations, torch.uint8, whole * geometry.GROUP_BYTES)
        return Operand(columns, (), (activations,))
    check("groups", activations.groups, torch.uint8, groups * geometry.UNNORMALIZED_BYTES)
    check("squares", activations.squares, torch.float32, groups)
    arguments = (activations.groups, activations.squares, float(activations.epsilon))
    return Operand(columns, (("UNNORMALIZED", 1), *_UNNORMALIZED), arguments)


def written(destination: Destination) -> Operand:
    """Describe where a product goes.

    Args:
        destination: As in `rows_of`.

    Raises:
        ValueError: It is not float32 or not contiguous, or the tensors of a residual stream do not fit
            together.
    """
    rows = rows_of(destination)
    if not isinstance(destination, ResidualStream):
        check("output", destination, torch.float32, rows)
        return Operand(rows, (), (destination,))
    groups, squares = destination.normed.groups, destination.normed.squares
    check("residual", destination.residual, torch.float32, rows)
    check("norm_weight", destination.norm_weight, torch.float32, rows)
    check("groups", groups, torch.uint8, rows // geometry.GROUP_ELEMENTS * geometry.UNNORMALIZED_BYTES)
    check("squares", squares, torch.float32, rows // geometry.GROUP_ELEMENTS)
    arguments = (destination.residual, destination.norm_weight, groups, squares)
    return Operand(rows, (("RESIDUAL_STREAM", 1), *_UNNORMALIZED), arguments)


def plain_operands(
    arm: str, activations: Activations, destination: Destination
) -> tuple[torch.Tensor, torch.Tensor]:
    """Give the operands of an arm in Triton.

    Args:
        arm: Its name.
        activations: As in `columns_of`.
        destination: As in `rows_of`.

    Raises:
        ValueError: They are not q8 groups and a vector.
    """
    if isinstance(activations, torch.Tensor) and isinstance(destination, torch.Tensor):
        return activations, destination
    raise ValueError(f"arm {arm} in Triton reads q8 groups and writes a vector, and takes no part in norms")


def check(name: str, tensor: torch.Tensor, dtype: torch.dtype, elements: int) -> None:
    """Refuse a tensor that a kernel would read wrongly or beyond its end.

    Args:
        name: What to call it.
        tensor: Any.
        dtype: What it must be.
        elements: How many it must have, contiguous.

    Raises:
        ValueError: It is something else.
    """
    if tensor.dtype != dtype or tensor.numel() != elements or not tensor.is_contiguous():
        raise ValueError(
            f"{name}: {tensor.dtype} of shape {tuple(tensor.shape)} and strides {tensor.stride()}; "
            f"expected {elements} contiguous elements of {dtype}"
        )


_UNNORMALIZED: Macros = (
    ("UNNORMALIZED_BYTES", geometry.UNNORMALIZED_BYTES),
    ("UNNORMALIZED_VALUES_OFFSET", geometry.UNNORMALIZED_VALUES_OFFSET),
)
