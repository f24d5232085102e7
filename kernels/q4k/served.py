"""The q4_K arms as an engine runs them: in CUDA C++ where that can be compiled, else in Triton."""

from typing import Any

import torch

from guardrail.kernels.kquants import cuda_module
from guardrail.kernels.kquants.cuda_activations import columns_of
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS
from guardrail.kernels.q4k import cuda_matvec, matvec


def quantizes(arm: str, weights: torch.Tensor, columns: int) -> bool:
    """Say whether an arm quantizes a vector of halves itself, as the one in CUDA C++ does.

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
    activations: torch.Tensor,
    output: torch.Tensor,
    **options: Any,
) -> None:
    """Run one arm; see `matvec.launch`.

    Args:
        arm: As there.
        weights: As there.
        activations: As there; or [columns] float16, where `quantizes` says that the arm quantizes it.
        output: As there.
        **options: What Triton's arms alone are launched with.
    """
    if quantizes(arm, weights, columns_of(activations)):
        cuda_matvec.launch(arm, weights, activations, output)
    else:
        matvec.launch(arm, weights, activations, output, **options)
