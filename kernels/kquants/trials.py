"""What the executable instances of quantized products have in common, for guardrail's probes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from guardrail.families.interface import Case
from guardrail.kernels.kquants import activations
from guardrail.kernels.kquants.gate import FALLBACK

Launcher = Callable[..., None]

_RANDOM_ROWS = 5
"""No multiple of the rows of a program, so that the last one is cut short."""


@dataclass(frozen=True, slots=True)
class ProductTrial:
    """A matrix, some vectors, and a place for their products."""

    blocks: torch.Tensor
    """[rows, blocks, bytes] uint8."""
    groups: torch.Tensor
    """[tokens, groups, 40] uint8 q8 groups."""
    output: torch.Tensor
    """[tokens, rows] float32."""
    block_units: int
    launcher: Launcher
    read_counts: Callable[[torch.Tensor, int], list[int]]
    product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    units: int
    plane: torch.Tensor | None = None
    """[rows, bytes] uint8, where the format has arms that read one."""
    plane_arms: Sequence[str] = ()

    @property
    def outputs(self) -> Sequence[torch.Tensor]:
        """Give the products."""
        return (self.output,)

    @property
    def scratch(self) -> Sequence[torch.Tensor]:
        """Give nothing: the arms keep no intermediate results in memory."""
        return ()

    def launch(self, arm: str) -> None:
        """Run one arm; a matrix-vector arm on the first vector.

        Args:
            arm: Its name.
        """
        weights = self.plane if arm in self.plane_arms else self.blocks
        tokens = slice(None) if arm == FALLBACK else 0
        self.launcher(arm, weights, self.groups[tokens], self.output[tokens], block_units=self.block_units)

    def unit_counts(self) -> Sequence[Sequence[int]]:
        """Read one row of counts for each vector, one for each unit, off exposing inputs."""
        return [self.read_counts(row, self.units) for row in self.output]

    def reference(self) -> Sequence[torch.Tensor]:
        """Compute the products in float64."""
        return [self.product(self.blocks, self.groups)]


def rows_of(case: Case) -> int:
    """Give the rows of a random matrix: axis ``rows``, or a few."""
    return int(case.get("rows", _RANDOM_ROWS))


def tokens_of(case: Case) -> int:
    """Give the number of vectors: axis ``tokens``, or one."""
    return int(case.get("tokens", 1))


def random_groups(case: Case, drawn: torch.Generator) -> torch.Tensor:
    """Draw normally distributed vectors and quantize them.

    Args:
        case: Axes ``id`` and optionally ``tokens``.
        drawn: What is drawn from.

    Returns:
        [tokens, id / 32, 40] uint8.
    """
    shape = (tokens_of(case), int(case["id"]))
    return activations.quantize(torch.randn(shape, generator=drawn, device=drawn.device))


def unwritten(tokens: int, rows: int, device: str) -> torch.Tensor:
    """Make an output full of NaN: [tokens, rows] float32."""
    return torch.full((tokens, rows), torch.nan, device=device)


def exposing_through(
    exposing: Callable[[Case, str], ProductTrial], launcher: Launcher
) -> Callable[[Case, str], ProductTrial]:
    """Make exposing trials that launch through another launcher."""
    return lambda case, device: replace(exposing(case, device), launcher=launcher)


def random_through(
    random: Callable[[Case, int, str], ProductTrial], launcher: Launcher
) -> Callable[[Case, int, str], ProductTrial]:
    """Make random trials that launch through another launcher."""
    return lambda case, seed, device: replace(random(case, seed, device), launcher=launcher)
