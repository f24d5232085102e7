"""Executable instances of the normalization, for guardrail's probes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from guardrail.families import Case
from rms_norm import geometry, launch
from rms_norm.coverage import units

_DIGITS = 8
"""Units that one row counts: float32 tells sums below 4**8 apart after a reciprocal square root."""
_RANDOM_ROWS = 3


@dataclass(frozen=True, slots=True)
class NormTrial:
    """Rows, weights, and a place for the normalized rows."""

    x: torch.Tensor
    weight: torch.Tensor
    output: torch.Tensor
    launcher: Callable[..., None] = launch.launch

    @property
    def outputs(self) -> Sequence[torch.Tensor]:
        """Give the normalized rows."""
        return (self.output,)

    @property
    def scratch(self) -> Sequence[torch.Tensor]:
        """Give nothing: the arms keep no intermediate results in memory."""
        return ()

    def launch(self, arm: str) -> None:
        """Run one arm."""
        self.launcher(arm, self.x, self.weight, self.output)


class ExposingNorm(NormTrial):
    """Rows that show how often each unit's squares were summed.

    Row r holds numbers only in the units of its own group of `_DIGITS`, whose squares sum to 1, 4, 16 ...; so
    the sum that its outputs were scaled by, read in base 4, is how often each unit of the group was summed.
    """

    __slots__ = ()

    def unit_counts(self) -> Sequence[Sequence[int]]:
        """Read one row of counts, one for each unit; a unit whose own outputs do not tell a sum counts 0."""
        rows, columns = self.x.shape
        scale = self.output.double() / (self.x.double() * self.weight.double())
        sums = columns * (scale.pow(-2) - geometry.EPSILON)
        unit = torch.arange(columns // geometry.UNIT_COLUMNS)
        own = sums.cpu().view(rows, -1, geometry.UNIT_COLUMNS)[unit // _DIGITS, unit]
        nearest = own.round()
        readable = ((own - nearest).abs() < 0.25).all(1) & (nearest == nearest[:, :1]).all(1)
        total = torch.where(readable, nearest[:, 0], 0).long()
        return [(total >> (2 * (unit % _DIGITS)) & 3).tolist()]


class RandomNorm(NormTrial):
    """Normally distributed rows and weights."""

    __slots__ = ()

    def reference(self) -> Sequence[torch.Tensor]:
        """Compute ``x / sqrt(mean(x**2) + epsilon) * weight`` in float64 (Zhang and Sennrich 2019)."""
        x = self.x.double()
        mean_square = x.square().mean(dim=1, keepdim=True)
        return [x / (mean_square + geometry.EPSILON).sqrt() * self.weight.double()]


def exposing(case: Case, device: str) -> ExposingNorm:
    """Make a trial that counts every unit of a case."""
    unit = torch.arange(units(case))
    rows = -(-len(unit) // _DIGITS)
    active = unit // _DIGITS == torch.arange(rows)[:, None]
    value = 2.0 ** (unit % _DIGITS) / geometry.UNIT_COLUMNS**0.5
    x = torch.where(active, value, 0.0).repeat_interleave(geometry.UNIT_COLUMNS, dim=1).to(device)
    return ExposingNorm(x, torch.ones_like(x[0]), torch.empty_like(x))


def random(case: Case, seed: int, device: str) -> RandomNorm:
    """Make a trial on random inputs."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn((_RANDOM_ROWS, int(case["columns"])), generator=generator).to(device)
    weight = torch.randn(x.shape[1], generator=generator).to(device)
    return RandomNorm(x, weight, torch.empty_like(x))
