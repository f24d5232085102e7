"""Launchers: one arm by name, the arm the gate picks, and the reference kernel."""

import functools
import os

import torch
import triton

from guardrail.kernels.q6k import geometry, knob
from guardrail.kernels.q6k.gate import pick
from guardrail.kernels.q6k.mmvq_v1 import mmvq_v1
from guardrail.kernels.q6k.mmvq_v2 import mmvq_v2
from guardrail.kernels.q6k.mmvq_v2_pf import mmvq_v2_pf

# One rounding a multiplication and one an addition. Fused, v2 and v2_pf would drop different ones: v2 adds
# each product to its running sum, while the compiler may fuse either of v2_pf's two. The interpreter never
# fuses.
_UNFUSED = {"enable_fp_fusion": False}


def launch(
    arm: str,
    weights: torch.Tensor,
    activations: torch.Tensor,
    output: torch.Tensor,
    *,
    block_units: int = geometry.BLOCK_UNITS,
    rows_per_program: int = geometry.ROWS,
) -> None:
    """Run one arm on any row length, also on one that it does not cover.

    Args:
        arm: ``v2`` or ``v2_pf``.
        weights: [rows, blocks, 224] uint8, contiguous.
        activations: [blocks * 8, 40] uint8, contiguous.
        output: [rows] float32, contiguous, written.
        block_units: Units side by side in one tile.
        rows_per_program: Rows that one program computes.

    Raises:
        ValueError: There is no such arm.
    """
    rows, units = _shape(weights, activations, output)
    grid = (triton.cdiv(rows, rows_per_program),)
    arguments = (weights, activations, output, rows, units)
    constants = {"ROWS": rows_per_program, "BLOCK_UNITS": block_units, "DP4A": weights.is_cuda}
    options = {"num_warps": geometry.WARPS, **_UNFUSED}
    if arm == "v2":
        mmvq_v2[grid](*arguments, **constants, **options)
    elif arm == "v2_pf":
        mmvq_v2_pf[grid](*arguments, UNITS_PER_LANE=geometry.UNITS_PER_LANE, **constants, **options)
    else:
        raise ValueError(f"arm {arm!r}: the q6_K product has v2 and v2_pf")


def launch_v1(weights: torch.Tensor, activations: torch.Tensor, output: torch.Tensor) -> None:
    """Run the reference kernel.

    Args:
        weights: [rows, blocks, 210 or 224] uint8, contiguous.
        activations: [blocks * 8, 40] uint8, contiguous.
        output: [rows] float32, contiguous, written.
    """
    rows, units = _shape(weights, activations, output)
    mmvq_v1[(rows,)](
        weights,
        activations,
        output,
        2 * units,
        BLOCK_BYTES=weights.shape[-1],
        BLOCK_HALVES=geometry.V1_BLOCK_HALVES,
        **_UNFUSED,
    )


@functools.cache
def pipelined_allowed() -> bool:
    """Read the opt-out of v2_pf from the environment, once a process."""
    return knob.pipelined_allowed(os.environ)


def matvec(weights: torch.Tensor, activations: torch.Tensor) -> torch.Tensor:
    """Multiply a padded q6_K matrix with a q8 vector by the arm that the gate picks.

    Args:
        weights: [rows, blocks, 224] uint8, contiguous.
        activations: [blocks * 8, 40] uint8, contiguous.

    Returns:
        [rows] float32.
    """
    output = torch.empty(len(weights), dtype=torch.float32, device=weights.device)
    row_length = weights.shape[1] * geometry.BLOCK_ELEMENTS
    choice = pick({"id": row_length, "pipelined": pipelined_allowed()})
    launch(choice.arm, weights, activations, output)
    return output


def _shape(weights: torch.Tensor, activations: torch.Tensor, output: torch.Tensor) -> tuple[int, int]:
    rows, row_blocks, _ = weights.shape
    units = row_blocks * geometry.UNITS_PER_BLOCK
    expected = {"activations": (units, geometry.ACTIVATION_BYTES), "output": (rows,)}
    for name, tensor in (("activations", activations), ("output", output)):
        if tensor.shape != expected[name]:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}; this matrix needs {expected[name]}")
    return rows, units
