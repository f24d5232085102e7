"""The q4_K arms as an engine runs them: in CUDA C++ where that can be compiled, else in Triton."""

from typing import Any

import torch

from guardrail.kernels.kquants import cuda_module
from guardrail.kernels.kquants.cuda_operands import Activations, Destination, columns_of, plain_operands
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS
from guardrail.kernels.q4k import cuda_matvec, matvec


def takes_part_in_norms(arm: str, weights: torch.Tensor, columns: int) -> bool:
    """Say whether an arm takes part in the norms of a residual stream, as the one in CUDA C++ does.

    A row that ends within a block is Triton's: the CUDA C++ arm computes whole blocks.

    Args:
        arm: Name of the arm.
        weights: Blocks.
        columns: Elements of a row.
    """
    return arm in cuda_matvec.ARMS and columns % BLOCK_ELEMENTS == 0 and cuda_module.serves(weights)


def launch(
    arm: str,
    weights: torch.Tensor,
    activations: Activations,
    output: Destination,
    **options: Any,
) -> None:
    """Run one arm; see `matvec.launch`.

    Args:
        arm: As there.
        weights: As there.
        activations: As there; or unnormalized groups, where the arm takes part in norms.
        output: As there; or a residual stream, where the arm does.
        **options: What Triton's arms alone are launched with.

    Raises:
        ValueError: The operands ask for a norm, and the arm takes no part in norms.
    """
    if takes_part_in_norms(arm, weights, columns_of(activations)):
        cuda_matvec.launch(arm, weights, activations, output)
    else:
        matvec.launch(arm, weights, *plain_operands(arm, activations, output), **options)
