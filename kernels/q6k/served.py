"""The q6_K arms as an engine runs them: in CUDA C++ where that can be compiled, else in Triton."""

from typing import Any

import torch

from guardrail.kernels.kquants import cuda_module
from guardrail.kernels.q6k import cuda_matvec, geometry, matvec


def quantizes(arm: str, weights: torch.Tensor) -> bool:
    """Say whether an arm quantizes a vector of halves itself, as those in CUDA C++ do.

    Args:
        arm: Name of the arm.
        weights: In its layout.
    """
    return arm in cuda_matvec.ARMS and cuda_module.serves(weights)


def launch(
    arm: str,
    weights: torch.Tensor,
    activations: torch.Tensor,
    output: torch.Tensor,
    *,
    block_units: int = geometry.BLOCK_UNITS,
    **options: Any,
) -> None:
    """Run one arm; see `matvec.launch`.

    Args:
        arm: As there.
        weights: As there.
        activations: As there; or [columns] float16, where `quantizes` says that the arm quantizes it.
        output: As there.
        block_units: As there.
        **options: What Triton's arms alone are launched with.
    """
    if quantizes(arm, weights):
        cuda_matvec.launch(arm, weights, activations, output, block_units=block_units)
    else:
        matvec.launch(arm, weights, activations, output, block_units=block_units, **options)
