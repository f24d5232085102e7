"""The launcher of the q6_K arms, by name."""

import functools
import os

import torch
import triton

from guardrail.kernels.kquants import activations as q8
from guardrail.kernels.kquants import dequantized, interpreted
from guardrail.kernels.kquants.gate import FALLBACK
from guardrail.kernels.kquants.geometry import GROUP_BYTES
from guardrail.kernels.q6k import geometry, knob
from guardrail.kernels.q6k.dequantize_q6k import dequantize_q6k
from guardrail.kernels.q6k.gate import PLANE_ARMS
from guardrail.kernels.q6k.mmvq_v1 import mmvq_v1
from guardrail.kernels.q6k.mmvq_v2 import mmvq_v2
from guardrail.kernels.q6k.mmvq_v2_dpl import mmvq_v2_dpl
from guardrail.kernels.q6k.mmvq_v2_pf import mmvq_v2_pf
from guardrail.kernels.q6k.mmvq_v2_pf_dpl import mmvq_v2_pf_dpl

# One rounding a multiplication and one an addition. Fused, v2 and v2_pf would drop different ones: v2 adds
# each product to its running sum, while the compiler may fuse either of v2_pf's two. The interpreter never
# fuses.
_UNFUSED = {"enable_fp_fusion": False}
_LOOPS = {"v2": mmvq_v2, "v2_dpl": mmvq_v2_dpl}
_PIPELINES = {"v2_pf": mmvq_v2_pf, "v2_pf_dpl": mmvq_v2_pf_dpl}
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
    """Run one arm on any row length, also on one that it does not cover.

    Args:
        arm: ``v1``, ``v2``, ``v2_pf``, ``v2_dpl``, ``v2_pf_dpl`` or ``dequantized``.
        weights: Contiguous uint8: [rows, bytes] dense split planes for the ``_dpl`` arms; for v2 and v2_pf
            [rows, blocks, 224]; for v1 and the fallback [rows, blocks, 210 or 224].
        activations: [units, 40] uint8, contiguous; the fallback also takes [tokens, units, 40].
        output: [rows] float32, contiguous, written; [tokens, rows] where the activations have tokens.
        block_units: Units side by side in one tile of the v2 arms.
        rows_per_program: Rows that one program computes; by default what is shipped for the device.

    Raises:
        ValueError: There is no such arm, or the tensors do not fit together.
    """
    if arm == FALLBACK:
        vectors = q8.dequantize(activations, torch.float32)
        dequantized.multiply(weights, dequantize, torch.atleast_2d(vectors), torch.atleast_2d(output))
        return
    rows, units = _check(arm, weights, activations, output)
    interpreted_rows = min(_INTERPRETED_ROWS, triton.next_power_of_2(rows))
    per_program = rows_per_program or (geometry.ROWS if weights.is_cuda else interpreted_rows)
    grid = (triton.cdiv(rows, per_program),)
    arguments = (weights, activations, output, rows)
    tile = {"ROWS": per_program, "BLOCK_UNITS": block_units, "DP4A": weights.is_cuda}
    options = {"num_warps": geometry.WARPS, **_UNFUSED}
    if arm == "v1":
        halves = units * geometry.UNIT_ELEMENTS // geometry.HALF_ELEMENTS
        constants = {"BLOCK_BYTES": weights.shape[-1], "BLOCK_HALVES": geometry.V1_BLOCK_HALVES}
        mmvq_v1[grid](*arguments, halves, ROWS=per_program, **constants, **options)
    elif arm in _LOOPS:
        _LOOPS[arm][grid](*arguments, units, **tile, **options)
    else:
        _PIPELINES[arm][grid](*arguments, units, UNITS_PER_LANE=geometry.UNITS_PER_LANE, **tile, **options)


def dequantize(blocks: torch.Tensor) -> torch.Tensor:
    """Compute the weights that q6_K blocks stand for.

    Args:
        blocks: [rows, blocks, 210 or 224] uint8, contiguous.

    Returns:
        [rows, blocks * 256] float32, each weight rounded once.
    """
    rows, row_blocks, block_bytes = blocks.shape
    output = torch.empty(rows, row_blocks * geometry.BLOCK_ELEMENTS, device=blocks.device)
    count = rows * row_blocks
    per_program = geometry.DEQUANTIZED_BLOCKS if blocks.is_cuda else interpreted.BLOCKS
    grid = (triton.cdiv(count, per_program),)
    dequantize_q6k[grid](blocks, output, count, BLOCK_BYTES=block_bytes, BLOCKS=per_program)
    return output


@functools.cache
def pipelined_allowed() -> bool:
    """Read the opt-out of v2_pf from the environment, once a process."""
    return knob.pipelined_allowed(os.environ)


def _check(
    arm: str, weights: torch.Tensor, activations: torch.Tensor, output: torch.Tensor
) -> tuple[int, int]:
    """Give rows and units, or refuse tensors that are not an arm's: a kernel would read beyond them."""
    rows, units = len(weights), len(activations)
    row_blocks = triton.cdiv(units, geometry.UNITS_PER_BLOCK)
    padded = (rows, row_blocks, geometry.PADDED_BLOCK_BYTES)
    shapes = {
        "v1": ((rows, row_blocks, geometry.RAW_BLOCK_BYTES), padded),
        **dict.fromkeys(("v2", "v2_pf"), (padded,)),
        **dict.fromkeys(PLANE_ARMS, ((rows, geometry.plane_row_bytes(row_blocks)),)),
    }
    if arm not in shapes:
        known = ", ".join((*shapes, FALLBACK))
        raise ValueError(f"arm {arm!r}: the q6_K product has {known}")
    expected = {
        "activations": (activations, ((units, GROUP_BYTES),)),
        "output": (output, ((rows,),)),
        "weights": (weights, shapes[arm]),
    }
    for name, (tensor, wanted) in expected.items():
        if tensor.shape not in wanted or not tensor.is_contiguous():
            raise ValueError(
                f"arm {arm}: {name} has shape {tuple(tensor.shape)} and strides {tensor.stride()}; "
                f"{rows} rows of {units} units need a contiguous {' or '.join(map(str, wanted))}"
            )
    if arm != "v1" and units % geometry.UNITS_PER_BLOCK:
        raise ValueError(f"arm {arm}: {units} units are no whole number of blocks; v1 takes such rows")
    return rows, units
