"""How the CUDA C++ matrix-vector kernels divide a product: what they are compiled and launched with."""

import functools
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from guardrail.kernels.kquants import cuda_activations, cuda_module, geometry
from guardrail.kernels.kquants.cuda_module import Macros

TASK_UNITS = 2
"""32-element units of one task: what a lane loads at once."""
_UNITS_PER_BLOCK = geometry.BLOCK_ELEMENTS // geometry.GROUP_ELEMENTS
TASKS_PER_BLOCK = geometry.BLOCK_ELEMENTS // (TASK_UNITS * geometry.GROUP_ELEMENTS)
_STAGED_TASK_BYTES = 88
"""Shared memory of one task's activations: 64 values, four sums, and half of four shared scales."""
_WARP = 32
_LONGEST_COURSE = 64
"""Rows that one team computes at most, where their partial sums wait in shared memory."""


@dataclass(frozen=True, slots=True)
class Course:
    """A division of the work; the sums' bits depend on `lanes_per_row` alone."""

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

    def shared_bytes(self, rows: int, tasks: int, grid: int) -> int:
        """Count the shared memory of one block: the staged vector, and the partial sums of its rows.

        Args:
            rows: Rows of the matrix.
            tasks: Tasks of a row.
            grid: Blocks.
        """
        rounds = -(-rows // (grid * self._teams))
        partial_sums = rounds * self.threads // _WARP if self._across_warps else 0
        return tasks * _STAGED_TASK_BYTES + 4 * partial_sums

    @property
    def _teams(self) -> int:
        return self.threads // self.lanes_per_row

    @property
    def _across_warps(self) -> bool:
        return self.lanes_per_row > _WARP


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

    def compiled_with(self, course: Course, source: Macros = ()) -> Macros:
        """Give all that the kernel is compiled with.

        Args:
            course: How the work is divided.
            source: Where activations come from; by default they are q8 groups.
        """
        return (*self.macros, *FORMAT_MACROS, *source, *course.macros())

    def launch(
        self, course: Course, weights: torch.Tensor, activations: torch.Tensor, output: torch.Tensor
    ) -> None:
        """Run the kernel.

        Args:
            course: How the work is divided.
            weights: [rows, ...] uint8, contiguous, `row_bytes` a row.
            activations: [units, 40] uint8 q8 groups or [units * 32] float16, contiguous, units in eights.
            output: [rows] float32, contiguous, written.

        Raises:
            ValueError: The tensors do not fit together: the kernel would read beyond them.
            MeasurementError: The kernel does not compile, or the driver refuses it.
        """
        cuda_activations.check(activations)
        rows, units = len(output), cuda_activations.columns_of(activations) // geometry.GROUP_ELEMENTS
        _check("weights", weights, torch.uint8, rows * self.row_bytes)
        _check("output", output, torch.float32, rows)
        if units % _UNITS_PER_BLOCK:
            raise ValueError(f"{units} units are no whole number of blocks; v1 takes such rows")
        tasks = units // TASK_UNITS
        grid = course.grid(rows, processors(weights.device.index))
        shared_bytes = course.shared_bytes(rows, tasks, grid)
        source = cuda_activations.macros_of(activations)
        kernel = cuda_module.load(self.source, self.kernel, self.compiled_with(course, source))
        kernel.launch(grid, shared_bytes, weights, activations, output, rows, tasks // TASKS_PER_BLOCK)


def _check(name: str, tensor: torch.Tensor, dtype: torch.dtype, elements: int) -> None:
    if tensor.dtype != dtype or tensor.numel() != elements or not tensor.is_contiguous():
        raise ValueError(
            f"{name}: {tensor.dtype} of shape {tuple(tensor.shape)} and strides {tensor.stride()}; "
            f"expected {elements} contiguous elements of {dtype}"
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
