"""The launcher of the q4_K arms, by name."""

import torch
import triton

from guardrail.kernels.kquants import activations as q8
from guardrail.kernels.kquants import dequantized, interpreted
from guardrail.kernels.kquants.gate import FALLBACK
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS, GROUP_BYTES
from guardrail.kernels.q4k import geometry
from guardrail.kernels.q4k.dequantize_q4k import dequantize_q4k
from guardrail.kernels.q4k.mmvq import mmvq_q4k

_INTERPRETED_ROWS = 256
"""Rows of a program in the interpreter at most: its time goes with programs more than with rows."""
interpreted.BLOCKS = 512


def launch(
    arm: str,
    weights: torch.Tensor,
    activations: torch.Tensor,
    output: torch.Tensor,
    *,
    block_units: int = geometry.BLOCK_UNITS,
    rows_per_program: int | None = None,
) -> None:
    """Run one arm.

    Args:
        arm: ``mmvq`` or ``dequantized``.
        weights: [rows, blocks, 144] uint8, contiguous.
        activations: [groups, 40] uint8, contiguous; the fallback also takes [tokens, groups, 40].
        output: [rows] float32, contiguous, written; [tokens, rows] where the activations have tokens.
        block_units: Units side by side in one tile of the arm.
        rows_per_program: Rows that one program computes; by default what is shipped for the device.

    Raises:
        ValueError: There is no such arm, or the tensors do not fit together.
    """
    if arm == FALLBACK:
        vectors = q8.dequantize(activations, torch.float32)
        dequantized.multiply(weights, dequantize, torch.atleast_2d(vectors), torch.atleast_2d(output))
        return
    if arm != "mmvq":
        raise ValueError(f"arm {arm!r}: the q4_K product has mmvq and {FALLBACK}")
    rows, units = _check(weights, activations, output)
    interpreted_rows = min(_INTERPRETED_ROWS, triton.next_power_of_2(rows))
    per_program = rows_per_program or (geometry.ROWS if weights.is_cuda else interpreted_rows)
    mmvq_q4k[(triton.cdiv(rows, per_program),)](
        weights,
        activations,
        output,
        rows,
        units,
        ROWS=per_program,
        BLOCK_UNITS=block_units,
        DP4A=weights.is_cuda,
        num_warps=geometry.WARPS,
        enable_fp_fusion=False,  # so that a sum has the same bits in the interpreter and on every GPU
    )


def dequantize(blocks: torch.Tensor) -> torch.Tensor:
    """Compute the weights that q4_K blocks stand for.

    Args:
        blocks: [rows, blocks, 144] uint8, contiguous.

    Returns:
        [rows, blocks * 256] float32, each weight rounded once.
    """
    rows, row_blocks, _ = blocks.shape
    output = torch.empty(rows, row_blocks * BLOCK_ELEMENTS, device=blocks.device)
    count = rows * row_blocks
    per_program = geometry.DEQUANTIZED_BLOCKS if blocks.is_cuda else interpreted.BLOCKS
    grid = (triton.cdiv(count, per_program),)
    dequantize_q4k[grid](blocks, output, count, BLOCKS=per_program, enable_fp_fusion=False)
    return output


def _check(weights: torch.Tensor, activations: torch.Tensor, output: torch.Tensor) -> tuple[int, int]:
    """Give rows and units, or refuse tensors that do not fit together: the kernel would read beyond them."""
    rows, groups = len(weights), len(activations)
    units = groups // geometry.GROUPS_PER_UNIT
    row_blocks = triton.cdiv(units, geometry.UNITS_PER_BLOCK)
    expected = {
        "weights": (weights, (rows, row_blocks, geometry.BLOCK_BYTES)),
        "activations": (activations, (units * geometry.GROUPS_PER_UNIT, GROUP_BYTES)),
        "output": (output, (rows,)),
    }
    for name, (tensor, shape) in expected.items():
        if tensor.shape != shape or not tensor.is_contiguous():
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)} and strides {tensor.stride()}; "
                f"{rows} rows of {groups} groups need a contiguous {shape}"
            )
    return rows, units
