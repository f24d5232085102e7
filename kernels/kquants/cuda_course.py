"""How the CUDA C++ matrix-vector kernels divide a product: what they are compiled and launched with."""

import functools
import itertools
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from guardrail.kernels.kquants import cuda_module, cuda_operands, geometry
from guardrail.kernels.kquants.cuda_module import Macros
from guardrail.kernels.kquants.cuda_operands import Activations, Destination
from guardrail.kernels.kquants.residual_stream import ResidualStream

TASK_UNITS = 2
"""32-element units of one task: what a lane loads at once."""
_UNITS_PER_BLOCK = geometry.BLOCK_ELEMENTS // geometry.GROUP_ELEMENTS
TASKS_PER_BLOCK = geometry.BLOCK_ELEMENTS // (TASK_UNITS * geometry.GROUP_ELEMENTS)
_STAGED_TASK_BYTES = 88
"""Shared memory of one task's activations: 64 values, four sums, and half of four shared scales."""
_WARP = 32
_H200_PROCESSORS = 132
_LONGEST_COURSE = 64
"""Rows that one team computes at most, where their partial sums wait in shared memory."""


@dataclass(frozen=True, slots=True)
class Course:
    """A division of the work; the sums' bits depend on `lanes_per_row` alone, a norm's on `threads`."""

    threads: int
    """Threads of a block."""
    lanes_per_row: int
    """Lanes that compute one row together, a power of two: a team."""
    tasks_per_lane: int
    """Tasks that each lane keeps on their way from memory."""
    blocks_per_sm: int
    """Blocks that the grid holds for each SM, and that registers are kept for."""

    def upfront(self, tasks: int) -> "Course":
        """Let every lane load its tasks of a whole row before it uses the first.

        Args:
            tasks: Tasks of a row.
        """
        return replace(self, tasks_per_lane=-(-tasks // self.lanes_per_row))

    def macros(self) -> Macros:
        """Give what a kernel is compiled with."""
        return tuple((name.upper(), value) for name, value in asdict(self).items())

    def grid(self, rows: int, processors: int) -> int:
        """Count the blocks that compute a matrix.

        Args:
            rows: Rows of the matrix.
            processors: SMs of the device.
        """
        needed = -(-rows // self._teams)
        resident = min(needed, processors * self.blocks_per_sm)
        return max(resident, -(-needed // _LONGEST_COURSE)) if self._across_warps else resident

    def grid_of_groups(self, rows: int) -> int:
        """Count the blocks that compute a matrix whose product is quantized: each computes one group.

        Args:
            rows: Rows of the matrix.

        Raises:
            ValueError: The rows are no whole groups, or a group is not computed in whole rounds.
        """
        if rows % geometry.GROUP_ELEMENTS or geometry.GROUP_ELEMENTS % self._teams:
            raise ValueError(
                f"{rows} rows by {self._teams} teams of {self.lanes_per_row} lanes: a block computes "
                f"{geometry.GROUP_ELEMENTS} rows in whole rounds"
            )
        return rows // geometry.GROUP_ELEMENTS

    def shared_bytes(self, rows: int, tasks: int, grid: int, *, keeps_sums: bool = False) -> int:
        """Count the shared memory of one block: the staged vector, and the partial sums of its rows.

        Args:
            rows: Rows of the matrix.
            tasks: Tasks of a row.
            grid: Blocks.
            keeps_sums: Whether sums wait for all rows of the block, and not for those of one row alone.
        """
        rounds = -(-rows // (grid * self._teams))
        warps_per_row = max(self.lanes_per_row // _WARP, 1)
        sums = rounds * self._teams * warps_per_row if self._across_warps or keeps_sums else 0
        return tasks * _STAGED_TASK_BYTES + 4 * sums

    @property
    def _teams(self) -> int:
        return self.threads // self.lanes_per_row

    @property
    def _across_warps(self) -> bool:
        return self.lanes_per_row > _WARP


def one_round_course(rows: int, *, lanes_per_row: int, tasks_per_lane: int) -> Course:
    """Divide a small matrix so that one block on each SM of an H200 computes its rows side by side.

    Args:
        rows: Rows of the matrix.
        lanes_per_row: Lanes that compute one row together.
        tasks_per_lane: Tasks that each lane keeps on their way from memory.
    """
    lanes = -(-rows // _H200_PROCESSORS) * lanes_per_row
    return Course(-(-lanes // _WARP) * _WARP, lanes_per_row, tasks_per_lane, blocks_per_sm=1)


@dataclass(frozen=True, slots=True)
class Product:
    """One matrix-vector kernel, and the bytes that it reads of a row."""

    source: Path
    """Its ``.cu`` file."""
    kernel: str
    """Its name in there."""
    macros: Macros
    """What it is compiled with, beside the course and the shared formats."""
    row_bytes: int

    def compiled_with(self, course: Course, *operands: Macros) -> Macros:
        """Give all that the kernel is compiled with.

        Args:
            course: How the work is divided.
            *operands: What its operands ask for; nothing for q8 groups and a plain output.
        """
        return (*self.macros, *FORMAT_MACROS, *itertools.chain(*operands), *course.macros())

    def launch(
        self, course: Course, weights: torch.Tensor, activations: Activations, output: Destination
    ) -> None:
        """Run the kernel.

        Args:
            course: How the work is divided.
            weights: [rows, ...] uint8, contiguous, `row_bytes` a row.
            activations: [units, 40] uint8 q8 groups, contiguous, units in eights; or unnormalized groups.
            output: [rows] float32, contiguous, written; or the residual stream that the product is added to.

        Raises:
            ValueError: The tensors do not fit together: the kernel would read beyond them.
            MeasurementError: The kernel does not compile, or the driver refuses it.
        """
        source, destination = cuda_operands.read(activations), cuda_operands.written(output)
        rows, units = destination.elements, source.elements // geometry.GROUP_ELEMENTS
        cuda_operands.check("weights", weights, torch.uint8, rows * self.row_bytes)
        if units % _UNITS_PER_BLOCK:
            raise ValueError(f"{units} units are no whole number of blocks; v1 takes such rows")
        tasks = units // TASK_UNITS
        grouped = isinstance(output, ResidualStream)
        grid = course.grid_of_groups(rows) if grouped else course.grid(rows, processors(weights.device.index))
        shared_bytes = course.shared_bytes(rows, tasks, grid, keeps_sums=grouped)
        macros = self.compiled_with(course, source.macros, destination.macros)
        kernel = cuda_module.load(self.source, self.kernel, macros)
        kernel.launch(
            grid,
            shared_bytes,
            weights,
            *source.arguments,
            *destination.arguments,
            rows,
            tasks // TASKS_PER_BLOCK,
        )


@functools.cache
def processors(device: int | None) -> int:
    """Count the SMs of a device.

    Args:
        device: Its index; the current device by default.
    """
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


FORMAT_MACROS: Macros = (
    ("ACTIVATION_BYTES", geometry.GROUP_BYTES),
    ("ACTIVATION_VALUES_OFFSET", geometry.GROUP_VALUES_OFFSET),
    ("ACTIVATION_SUM_OFFSET", geometry.GROUP_SUM_OFFSET),
    ("LARGEST_VALUE", geometry.LARGEST_VALUE),
    ("UNITS_PER_BLOCK", _UNITS_PER_BLOCK),
    ("TASKS_PER_BLOCK", TASKS_PER_BLOCK),
)
"""The formats that every kernel reads or writes."""
