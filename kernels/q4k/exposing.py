"""q4_K inputs that tell every unit's contribution to a product apart."""

import functools
import random

import torch

from guardrail.kernels.kquants import activations, exposing
from guardrail.kernels.q4k import blocks, geometry

DIGITS = 8
"""Units that one row counts; weights of four bits reach no larger contributions."""

_FIRST_SCALES = (37, 41, 43, 47, 53, 59, 61)
_SECOND_SCALES = tuple(range(32, 64))
_LAST_VALUES = (32, 16, 8, 4, 2, 1)
"""Activations of the last elements of a sub-block: together they make up any remainder of either sign."""


def exposing_inputs(units: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Build a matrix and a vector whose product counts the units.

    Args:
        units: 64-element units of a row; its last block may hold more.

    Returns:
        q4_K blocks [ceil(units / DIGITS), ceil(units / 4), 144] and q8 groups [units * 2, 40], both uint8.
    """
    full = -(-units // geometry.UNITS_PER_BLOCK) * geometry.UNITS_PER_BLOCK
    weights, scales, minimums, values = (part[:full] for part in _patterns())
    unit = torch.arange(full)
    active, other = exposing.active_units(full, DIGITS)
    rows = -(-units // DIGITS)
    active, other = active[:rows, :, None], other[:rows]
    row_weights = torch.where(active, weights, weights[other]).view(rows, -1, geometry.BLOCK_ELEMENTS)
    row_scales, row_minimums = (
        torch.where(active, part, 0).view(rows, -1, geometry.SUB_BLOCKS) for part in (scales, minimums)
    )
    block = unit[:: geometry.UNITS_PER_BLOCK]
    factors = torch.stack([_factor(block), _minimum_factor(block)], dim=-1).expand(rows, -1, -1)
    matrix = blocks.assemble(row_weights, row_scales, row_minimums, factors.to(torch.float16))
    group_scales = _activation_scale(unit)[:, None].expand(-1, geometry.GROUPS_PER_UNIT).flatten()
    groups = activations.assemble(
        values.view(-1, geometry.SUB_BLOCK_ELEMENTS), group_scales.to(torch.float16)
    )
    return matrix, groups[: units * geometry.GROUPS_PER_UNIT]


def read_counts(output: torch.Tensor, units: int) -> list[int]:
    """Read off the product how often each unit was computed.

    Args:
        output: [rows] float32.
        units: Units of a row.
    """
    return exposing.read_counts(output, units, DIGITS)


def _factor(unit: torch.Tensor) -> torch.Tensor:
    """Give neighbouring blocks different factors."""
    return torch.exp2(-(unit // geometry.UNITS_PER_BLOCK % 2).float())


def _minimum_factor(unit: torch.Tensor) -> torch.Tensor:
    """Give minimums twice the factor of scales, so that one cannot stand for the other."""
    return 2 * _factor(unit)


def _activation_scale(unit: torch.Tensor) -> torch.Tensor:
    """Give neighbouring units different factors."""
    return torch.exp2(-(unit % 3).float())


@functools.cache
def _patterns() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Make weights and activations [units, 64], scales and minimums [units, 2] of the longest row."""
    generator = random.Random(4)
    units = geometry.LONGEST_ROW // geometry.UNIT_ELEMENTS
    unit = torch.arange(units)
    values = torch.tensor(
        [
            [exposing.draw_values(geometry.SUB_BLOCK_ELEMENTS, _LAST_VALUES, generator) for _ in range(2)]
            for _ in range(units)
        ]
    )
    minimums = torch.tensor([[generator.randint(1, geometry.LARGEST_SCALE) for _ in pair] for pair in values])
    contributions = 4.0 ** (unit % DIGITS) / (_factor(unit) * _activation_scale(unit))
    ratio = (_minimum_factor(unit) / _factor(unit)).long()
    totals = contributions.long() + ratio * (minimums * values.sum(dim=-1)).sum(dim=-1)
    split = [exposing.split(total, _FIRST_SCALES, _SECOND_SCALES, generator) for total in totals.tolist()]
    scales, dots = (torch.tensor(part) for part in zip(*split, strict=True))
    wanted = torch.tensor(
        [[[generator.randint(3, 12) for _ in half] for half in pair] for pair in values.tolist()]
    )
    limits = (0, geometry.LARGEST_WEIGHT)
    weights = exposing.weights_with_dot(dots, values, wanted, limits, last=len(_LAST_VALUES))
    return (
        weights.flatten(1).to(torch.uint8),
        scales.to(torch.uint8),
        minimums.to(torch.uint8),
        values.flatten(1).to(torch.int8),
    )
