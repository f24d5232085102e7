"""q6_K inputs that tell every unit's contribution to a product apart."""

import functools
import random

import torch

from guardrail.kernels.kquants import activations, exposing
from guardrail.kernels.q6k import blocks, geometry

DIGITS = 10
"""Units that one row counts; their largest sum, below 4**10, is exact in float32."""

_FIRST_SCALES = (67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127)
_SECOND_SCALES = tuple(range(64, 128))
_LAST_VALUES = (32, 1)
"""Activations of the last two elements of a half: together they make up any remainder below a thousand."""
_NOISE = 7


def exposing_inputs(units: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Build a matrix and a vector whose product counts the units.

    Args:
        units: 32-element units of a row; its last block may hold more.

    Returns:
        Raw q6_K blocks [ceil(units / DIGITS), ceil(units / 8), 210] and q8 groups [units, 40], both uint8.
    """
    full = -(-units // geometry.UNITS_PER_BLOCK) * geometry.UNITS_PER_BLOCK
    weights, scales, values = (part[:full] for part in _patterns())
    unit = torch.arange(full)
    active, other = exposing.active_units(full, DIGITS)
    rows = -(-units // DIGITS)
    active, other = active[:rows, :, None], other[:rows]
    row_weights = torch.where(active, weights, weights[other]).view(rows, -1, geometry.BLOCK_ELEMENTS)
    row_scales = torch.where(active, scales, 0).view(rows, -1, geometry.HALVES_PER_BLOCK)
    super_scale = _super_scale(unit[:: geometry.UNITS_PER_BLOCK]).expand(rows, -1)
    matrix = blocks.assemble(row_weights, row_scales, super_scale.to(torch.float16))
    groups = activations.assemble(values, _activation_scale(unit).to(torch.float16))
    return matrix, groups[:units]


def read_counts(output: torch.Tensor, units: int) -> list[int]:
    """Read off the product how often each unit was computed.

    Args:
        output: [rows] float32.
        units: Units of a row.
    """
    return exposing.read_counts(output, units, DIGITS)


def _super_scale(unit: torch.Tensor) -> torch.Tensor:
    """Give neighbouring blocks different factors."""
    return torch.exp2(-(unit // geometry.UNITS_PER_BLOCK % 2).float())


def _activation_scale(unit: torch.Tensor) -> torch.Tensor:
    """Give neighbouring units different factors."""
    return torch.exp2(-(unit % 3).float())


@functools.cache
def _patterns() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Make weights [units, 32], scales [units, 2] and activations [units, 32] of the longest row, in int8."""
    generator = random.Random(6)
    units = geometry.LONGEST_ROW // geometry.UNIT_ELEMENTS
    unit = torch.arange(units)
    contributions = (4.0 ** (unit % DIGITS) / (_super_scale(unit) * _activation_scale(unit))).long().tolist()
    split = [exposing.split(total, _FIRST_SCALES, _SECOND_SCALES, generator) for total in contributions]
    scales, dots = (torch.tensor(part) for part in zip(*split, strict=True))
    signs = torch.tensor([[generator.choice((-1, 1)) for _ in range(2)] for _ in range(units)])
    values = torch.tensor(
        [
            [exposing.draw_values(geometry.HALF_ELEMENTS, _LAST_VALUES, generator) for _ in range(2)]
            for _ in range(units)
        ]
    )
    noise = torch.tensor(
        [[[generator.randint(-_NOISE, _NOISE) for _ in half] for half in pair] for pair in values.tolist()]
    )
    limits = (-geometry.WEIGHT_BIAS, geometry.WEIGHT_BIAS - 1)
    weights = exposing.weights_with_dot(signs * dots, values, noise, limits, last=len(_LAST_VALUES))
    return (
        weights.flatten(1).to(torch.int8),
        (signs * scales).to(torch.int8),
        values.flatten(1).to(torch.int8),
    )
