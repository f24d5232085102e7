"""Executable instances of a q6_K product, for guardrail's probes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from guardrail.families.interface import Case
from guardrail.kernels.q6k import activations, blocks, geometry, matvec, reference
from guardrail.kernels.q6k import exposing as exposing_bytes
from guardrail.kernels.q6k.coverage import units

_RANDOM_ROWS = 5
"""No multiple of the rows of a program, so that the last one is cut short."""
_INTERPRETED_ROWS = 16
"""Rows of a program in the interpreter, whose time goes with programs and not with rows."""


@dataclass(frozen=True, slots=True)
class MatvecTrial:
    """A matrix, a vector, and a place for their product."""

    weights: torch.Tensor
    activations: torch.Tensor
    output: torch.Tensor
    block_units: int
    launcher: Callable[..., None] = matvec.launch

    @property
    def outputs(self) -> Sequence[torch.Tensor]:
        """Give the product."""
        return (self.output,)

    @property
    def scratch(self) -> Sequence[torch.Tensor]:
        """Give nothing: the arms keep no intermediate results in memory."""
        return ()

    def launch(self, arm: str) -> None:
        """Run one arm.

        Args:
            arm: ``v2`` or ``v2_pf``.
        """
        self.launcher(
            arm,
            self.weights,
            self.activations,
            self.output,
            block_units=self.block_units,
            rows_per_program=geometry.ROWS if self.weights.is_cuda else _INTERPRETED_ROWS,
        )


class ExposingMatvec(MatvecTrial):
    """A product that shows how often each unit was computed."""

    __slots__ = ()

    def unit_counts(self) -> Sequence[Sequence[int]]:
        """Read one row of counts, one for each unit."""
        return [exposing_bytes.read_counts(self.output, len(self.activations))]


class RandomMatvec(MatvecTrial):
    """A product of random quantized numbers."""

    __slots__ = ()

    def reference(self) -> Sequence[torch.Tensor]:
        """Compute the product in float64."""
        return [reference.product(self.weights, self.activations)]


def exposing(case: Case, device: str) -> ExposingMatvec:
    """Make a trial that counts every unit of a case.

    Args:
        case: Axes ``id`` and optionally ``block_units``.
        device: Where the tensors live.
    """
    matrix, vector = exposing_bytes.exposing_inputs(units(case))
    return ExposingMatvec(
        matrix.to(device), vector.to(device), _unwritten(matrix, device), _block_units(case)
    )


def random(case: Case, seed: int, device: str) -> RandomMatvec:
    """Make a trial on random q6_K bytes, the block factors around 2**-10, and a normally distributed vector.

    Args:
        case: Axes ``id`` and optionally ``block_units``.
        seed: Seed of both.
        device: Where the tensors live.
    """
    generator = torch.Generator().manual_seed(seed)
    row_length = int(case["id"])
    shape = (_RANDOM_ROWS, row_length // geometry.BLOCK_ELEMENTS)
    quantized = torch.randint(
        0, 256, (*shape, geometry.SUPER_SCALE_OFFSET), dtype=torch.uint8, generator=generator
    )
    super_scale = ((torch.rand(shape, generator=generator) + 0.5) * 2**-10).to(torch.float16)
    raw = torch.cat([quantized, super_scale.unsqueeze(-1).view(torch.uint8)], dim=-1)
    matrix = blocks.pad(raw).to(device)
    vector = activations.quantize(torch.randn(row_length, generator=generator)).to(device)
    return RandomMatvec(matrix, vector, _unwritten(matrix, device), _block_units(case))


def _unwritten(matrix: torch.Tensor, device: str) -> torch.Tensor:
    return torch.full((len(matrix),), torch.nan, device=device)


def _block_units(case: Case) -> int:
    return int(case.get("block_units", geometry.BLOCK_UNITS))
