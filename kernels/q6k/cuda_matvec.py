"""The arms of the q6_K product in CUDA C++: the same names and coverage as in Triton, other roundings."""

from pathlib import Path

import torch

from guardrail.kernels.kquants.cuda_course import TASK_UNITS, Course, Product, one_round_course
from guardrail.kernels.kquants.cuda_module import Macros
from guardrail.kernels.kquants.cuda_operands import Activations, Destination, columns_of, rows_of
from guardrail.kernels.kquants.geometry import GROUP_ELEMENTS
from guardrail.kernels.kquants.residual_stream import ResidualStream
from guardrail.kernels.q6k import geometry

_SOURCE = Path(__file__).with_name("mmvq.cu")
_FORMAT: Macros = tuple(
    (name, getattr(geometry, name))
    for name in (
        "QL_OFFSET",
        "QH_OFFSET",
        "SCALES_OFFSET",
        "SUPER_SCALE_OFFSET",
        "RAW_BLOCK_BYTES",
        "PADDED_BLOCK_BYTES",
        "PLANE_ALIGNMENT",
        "WEIGHT_BIAS",
    )
)
_DENSE_PLANES: Macros = (("DENSE_PLANES", 1),)
ARMS = ("v2", "v2_pf", "v2_dpl", "v2_pf_dpl")
_PIPELINED_ARMS = ("v2_pf", "v2_pf_dpl")


def launch(
    arm: str,
    weights: torch.Tensor,
    activations: Activations,
    output: Destination,
    *,
    block_units: int = geometry.BLOCK_UNITS,
    course: Course | None = None,
) -> None:
    """Run one arm on any row length, also on one that it does not cover.

    Args:
        arm: ``v2``, ``v2_pf``, ``v2_dpl`` or ``v2_pf_dpl``.
        weights: uint8, contiguous: [rows, blocks, 224], or for the dpl arms [rows, bytes] dense split planes.
        activations: [units, 40] uint8 q8 groups, contiguous; or unnormalized groups.
        output: [rows] float32, contiguous, written; or the residual stream that the product is added to.
        block_units: Units side by side in one of v2_pf's two tiles.
        course: How the work is divided; by default what was fastest for the shape.

    Raises:
        ValueError: There is no such arm, or the tensors do not fit together.
        MeasurementError: The kernel does not compile, or the driver refuses it.
    """
    units = columns_of(activations) // GROUP_ELEMENTS
    grouped = isinstance(output, ResidualStream)
    divided = course_of(arm, rows_of(output), units, block_units, grouped=grouped, course=course)
    product(arm, units, block_units).launch(divided, weights, activations, output)


def product(arm: str, units: int, block_units: int = geometry.BLOCK_UNITS) -> Product:
    """Describe the kernel of an arm.

    Args:
        arm: Its name.
        units: 32-element units of a row.
        block_units: Units side by side in one of v2_pf's two tiles.

    Raises:
        ValueError: There is no such arm.
    """
    if arm not in ARMS:
        raise ValueError(f"arm {arm!r}: the q6_K product in CUDA C++ has {', '.join(ARMS)}")
    blocks = units // geometry.UNITS_PER_BLOCK
    dense = arm.endswith("_dpl")
    return Product(
        source=_SOURCE,
        kernel=f"cuda_mmvq_{arm}",
        macros=(
            *_FORMAT,
            *(_DENSE_PLANES if dense else ()),
            ("PIPELINED_TASKS", pipelined_tasks(block_units)),
        ),
        row_bytes=geometry.plane_row_bytes(blocks) if dense else blocks * geometry.PADDED_BLOCK_BYTES,
    )


def course_of(
    arm: str,
    rows: int,
    units: int,
    block_units: int = geometry.BLOCK_UNITS,
    *,
    grouped: bool = False,
    course: Course | None = None,
) -> Course:
    """Divide the work of an arm; the pipelined ones load all that they reach of a row before they use it.

    Args:
        arm: Its name.
        rows: Rows of the matrix.
        units: 32-element units of a row.
        block_units: Units side by side in one of v2_pf's two tiles.
        grouped: Whether each block computes the rows of one q8 group, as for a residual stream.
        course: What to start from; by default what was fastest for the shape.
    """
    if arm not in _PIPELINED_ARMS:
        return course or pick_course(rows, units, grouped=grouped)
    reached = min(units, TASK_UNITS * pipelined_tasks(block_units))
    return (course or pick_course(rows, reached, grouped=grouped)).upfront(reached // TASK_UNITS)


def pipelined_tasks(block_units: int) -> int:
    """Count the tasks of a row that the v2_pf arms compute at most, which is what they are compiled with.

    Args:
        block_units: Units side by side in each of their tiles.
    """
    return geometry.UNITS_PER_LANE * block_units // TASK_UNITS


def pick_course(rows: int, units: int, *, grouped: bool = False) -> Course:
    """Divide the work as was fastest on an H200.

    Args:
        rows: Rows of the matrix.
        units: 32-element units of a row.
        grouped: Whether each block computes the rows of one q8 group, as for a residual stream.
    """
    tasks = units // TASK_UNITS
    if grouped and tasks > pipelined_tasks(geometry.BLOCK_UNITS):
        return Course(threads=1024, lanes_per_row=64, tasks_per_lane=1, blocks_per_sm=1)
    if tasks > pipelined_tasks(geometry.BLOCK_UNITS):
        return Course(threads=256, lanes_per_row=64, tasks_per_lane=5, blocks_per_sm=1)
    if tasks > pipelined_tasks(geometry.BLOCK_UNITS) // geometry.UNITS_PER_LANE:
        return Course(threads=512, lanes_per_row=128, tasks_per_lane=2, blocks_per_sm=1)
    if grouped:
        return Course(threads=256, lanes_per_row=32 if tasks > 64 else 16, tasks_per_lane=4, blocks_per_sm=1)
    if tasks > 64:
        return Course(threads=384, lanes_per_row=32, tasks_per_lane=3, blocks_per_sm=1)
    if rows <= 1_024:
        return one_round_course(rows, lanes_per_row=64, tasks_per_lane=1)
    return Course(threads=256, lanes_per_row=32, tasks_per_lane=2, blocks_per_sm=2)
