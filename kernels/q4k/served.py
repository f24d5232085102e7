"""The q4_K arms as an engine runs them: in CUDA C++ where that can be compiled, else in Triton."""

from typing import Any

import torch

from guardrail.kernels.kquants import cuda_module
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS, GROUP_ELEMENTS
from guardrail.kernels.q4k import cuda_matvec, matvec


def launch(
    arm: str, weights: torch.Tensor, activations: torch.Tensor, output: torch.Tensor, **options: Any
) -> None:
    """Run one arm; see `matvec.launch`.

    A row that ends within a block is Triton's: the CUDA C++ arm computes whole blocks.

    Args:
        arm: As there.
        weights: As there.
        activations: As there.
        output: As there.
        **options: What Triton's arms alone are launched with.
    """
    whole = activations.shape[-2] % (BLOCK_ELEMENTS // GROUP_ELEMENTS) == 0
    if arm in cuda_matvec.ARMS and whole and cuda_module.serves(weights):
        cuda_matvec.launch(arm, weights, activations, output)
    else:
        matvec.launch(arm, weights, activations, output, **options)
