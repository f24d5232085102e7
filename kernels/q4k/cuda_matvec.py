"""The looping arm of the q4_K product in CUDA C++: the same coverage as in Triton, other roundings."""

from pathlib import Path

import torch

from guardrail.kernels.kquants.cuda_course import TASK_UNITS, Course, Product, one_round_course
from guardrail.kernels.kquants.cuda_module import Macros
from guardrail.kernels.kquants.cuda_operands import Activations, Destination, columns_of, rows_of
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS, GROUP_ELEMENTS
from guardrail.kernels.kquants.residual_stream import ResidualStream
from guardrail.kernels.q4k import geometry

_SOURCE = Path(__file__).with_name("mmvq.cu")
_FORMAT: Macros = tuple(
    (name, getattr(geometry, name))
    for name in ("FACTORS_OFFSET", "SCALES_OFFSET", "NIBBLES_OFFSET", "BLOCK_BYTES")
)
ARMS = ("mmvq",)


def launch(
    arm: str,
    weights: torch.Tensor,
    activations: Activations,
    output: Destination,
    *,
    course: Course | None = None,
) -> None:
    """Run one arm on any row length.

    Args:
        arm: ``mmvq``.
        weights: [rows, blocks, 144] uint8, contiguous.
        activations: [units, 40] uint8 q8 groups, contiguous; or unnormalized groups.
        output: [rows] float32, contiguous, written; or the residual stream that the product is added to.
        course: How the work is divided; by default what was fastest for the shape.

    Raises:
        ValueError: There is no such arm, or the tensors do not fit together.
        MeasurementError: The kernel does not compile, or the driver refuses it.
    """
    if arm not in ARMS:
        raise ValueError(f"arm {arm!r}: the q4_K product in CUDA C++ has {', '.join(ARMS)}")
    groups = columns_of(activations) // GROUP_ELEMENTS
    divided = course or pick_course(rows_of(output), groups, grouped=isinstance(output, ResidualStream))
    product(groups).launch(divided, weights, activations, output)


def product(groups: int) -> Product:
    """Describe the kernel.

    Args:
        groups: 32-element activation groups of a row.
    """
    blocks = groups * GROUP_ELEMENTS // BLOCK_ELEMENTS
    return Product(_SOURCE, "cuda_mmvq_q4k", _FORMAT, blocks * geometry.BLOCK_BYTES)


def pick_course(rows: int, groups: int, *, grouped: bool = False) -> Course:
    """Divide the work as was fastest on an H200.

    Args:
        rows: Rows of the matrix.
        groups: 32-element activation groups of a row.
        grouped: Whether each block computes the rows of one q8 group, as for a residual stream.
    """
    tasks = groups // TASK_UNITS
    if grouped and tasks <= 128:
        return Course(threads=512, lanes_per_row=16, tasks_per_lane=4, blocks_per_sm=1)
    if tasks > 256 or grouped:
        return Course(threads=512, lanes_per_row=32, tasks_per_lane=2, blocks_per_sm=1)
    if tasks > 128:
        return Course(threads=384, lanes_per_row=128, tasks_per_lane=2, blocks_per_sm=2)
    if tasks <= 64 and 2_048 < rows <= 5_120:
        return one_round_course(rows, lanes_per_row=16, tasks_per_lane=2)
    if tasks <= 64:
        return Course(threads=384, lanes_per_row=32, tasks_per_lane=2, blocks_per_sm=2)
    if rows <= 2_048:
        return Course(threads=384, lanes_per_row=32, tasks_per_lane=3, blocks_per_sm=1)
    if rows <= 8_192:
        return Course(threads=256, lanes_per_row=16, tasks_per_lane=2, blocks_per_sm=3)
    return Course(threads=384, lanes_per_row=16, tasks_per_lane=5, blocks_per_sm=1)
