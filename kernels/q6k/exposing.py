"""Inputs that tell every unit's contribution to a product apart.

Row r gives the units of its own group of `DIGITS` the contributions 1, 4, 16, ... and all others nothing, so
that its output, read in base 4, is how often each unit of the group was computed. No two units have the same
weights, scales and activations, so one that is computed from another's bytes contributes something else.
"""

import functools
import random

import torch

from guardrail.kernels.q6k import activations, blocks, geometry

DIGITS = 10
"""Units that one row counts; their largest sum, below 4**10, is exact in float32."""

_FIRST_SCALES = (67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127)
"""Primes, so that none shares a factor with a second scale below twice the smallest."""
_SMALLEST_VALUE, _LARGEST_VALUE = 70, 120
_LAST_VALUES = (32, 1)
"""Activations of the last two elements of a half: together they make up any remainder below a thousand."""
_NOISE = 7


def exposing_inputs(units: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Build a matrix and a vector whose product counts the units.

    Args:
        units: 32-element units of a row, a multiple of 8.

    Returns:
        Padded q6_K blocks [ceil(units / DIGITS), units / 8, 224] and q8 groups [units, 40], both uint8.
    """
    weights, scales, values = (part[:units] for part in _patterns())
    unit = torch.arange(units)
    rows = torch.arange(-(-units // DIGITS))
    active = (unit // DIGITS == rows[:, None])[:, :, None]
    elsewhere = weights[(unit - rows[:, None] - 1) % units]
    row_weights = torch.where(active, weights, elsewhere).view(len(rows), -1, geometry.BLOCK_ELEMENTS)
    row_scales = torch.where(active, scales, 0).view(len(rows), -1, geometry.HALVES_PER_BLOCK)
    super_scale = _super_scale(unit[:: geometry.UNITS_PER_BLOCK]).expand(len(rows), -1)
    matrix = blocks.pad(blocks.assemble(row_weights, row_scales, super_scale.to(torch.float16)))
    return matrix, activations.assemble(values, _activation_scale(unit).to(torch.float16))


def read_counts(output: torch.Tensor, units: int) -> list[int]:
    """Read off the product how often each unit was computed.

    Args:
        output: [rows] float32.
        units: Units of a row.

    Returns:
        One count for each unit; 0 for all units of a row whose output is no sum of its contributions.
    """
    exact = output.double().cpu()
    readable = (exact >= 0) & (exact < 4**DIGITS) & (exact == exact.floor())
    number = torch.where(readable, exact, 0).long()
    digits = number[:, None] >> (2 * torch.arange(DIGITS)) & 3
    return digits.flatten()[:units].tolist()


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
    wanted = (4.0 ** (unit % DIGITS) / (_super_scale(unit) * _activation_scale(unit))).long().tolist()
    scales, dots = zip(*(_split(total, generator) for total in wanted), strict=True)
    values = torch.tensor([[_half_values(generator) for _ in range(2)] for _ in range(units)])
    noise = torch.tensor(
        [[[generator.randint(-_NOISE, _NOISE) for _ in half] for half in pair] for pair in values.tolist()]
    )
    weights = _weights_with_dot(torch.tensor(dots), values, noise)
    return (
        weights.flatten(1).to(torch.int8),
        torch.tensor(scales, dtype=torch.int8),
        values.flatten(1).to(torch.int8),
    )


def _split(total: int, generator: random.Random) -> tuple[tuple[int, int], tuple[int, int]]:
    """Write a sum as ``scale0 * dot0 + scale1 * dot1`` with dots of about the same size."""
    first = generator.choice(_FIRST_SCALES)
    second = generator.choice([scale for scale in range(64, 128) if scale != first])
    about = total // (first + second)
    second_dot = about + (total * pow(second, -1, first) - about) % first
    first_dot = (total - second * second_dot) // first
    signs = generator.choice((-1, 1)), generator.choice((-1, 1))
    return (signs[0] * first, signs[1] * second), (signs[0] * first_dot, signs[1] * second_dot)


def _half_values(generator: random.Random) -> list[int]:
    steered = geometry.HALF_ELEMENTS - len(_LAST_VALUES)
    sizes = [generator.randint(_SMALLEST_VALUE, _LARGEST_VALUE) for _ in range(steered)]
    return [generator.choice((-1, 1)) * size for size in sizes] + list(_LAST_VALUES)


def _weights_with_dot(dots: torch.Tensor, values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """Find six-bit weights whose dot products with given values are given numbers.

    Each weight takes its share of what is left, with noise; the last two take the rest exactly.

    Args:
        dots: [units, 2] wanted dot products, at most 20,000 in magnitude.
        values: [units, 2, 16] activations.
        noise: [units, 2, 16] offsets of the weights.
    """
    left = dots.clone()
    weights = torch.zeros_like(values)
    last = values.shape[-1] - 1
    for element in range(last + 1):
        steered = last + 1 - len(_LAST_VALUES)
        share = left / values[..., element]
        if element < steered:
            share = share / (steered - element) + noise[..., element]
        weights[..., element] = share.round().clamp(-geometry.WEIGHT_BIAS, geometry.WEIGHT_BIAS - 1).long()
        left -= weights[..., element] * values[..., element]
    if left.any():
        raise AssertionError(
            "exposing weights miss their dot products: the values leave too large a remainder"
        )
    return weights
