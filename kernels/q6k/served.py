"""The q6_K arms as an engine runs them: in CUDA C++ where that can be compiled, else in Triton."""

from typing import Any

import torch

from guardrail.kernels.kquants import cuda_module
from guardrail.kernels.kquants.cuda_operands import Activations, Destination, plain_operands
from guardrail.kernels.q6k import cuda_matvec, geometry, matvec


def takes_part_in_norms(arm: str, weights: torch.Tensor) -> bool:
    """Say whether an arm takes part in the norms of a residual stream, as those in CUDA C++ do.

    Args:
        arm: Name of the arm.
        weights: In its layout.
    """
    return arm in cuda_matvec.ARMS and cuda_module.serves(weights)


def launch(
    arm: str,
    weights: torch.Tensor,
    activations: Activations,
    output: Destination,
    *,
    block_units: int = geometry.BLOCK_UNITS,
    **options: Any,
) -> None:
    """Run one arm; see `matvec.launch`.

    Args:
        arm: As there.
        weights: As there.
        activations: As there; or unnormalized groups, where the arm takes part in norms.
        output: As there; or a residual stream, where the arm does.
        block_units: As there.
        **options: What Triton's arms alone are launched with.

    Raises:
        ValueError: The operands ask for a norm, and the arm takes no part in norms.
    """
    if takes_part_in_norms(arm, weights):
        cuda_matvec.launch(arm, weights, activations, output, block_units=block_units)
    else:
        plain = plain_operands(arm, activations, output)
        matvec.launch(arm, weights, *plain, block_units=block_units, **options)
