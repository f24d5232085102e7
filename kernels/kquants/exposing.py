"""Inputs that tell every unit's contribution to a product apart: what the formats share.

A row gives the units of its own group of some number of digits the contributions 1, 4, 16, ... and all others
nothing, so that its output, read in base 4, is how often each unit of the group was computed. No two units
have the same weights, scales and activations, so one that is computed from another's bytes contributes
something else.
"""

import random
from collections.abc import Sequence

import torch

_SMALLEST_VALUE, _LARGEST_VALUE = 70, 120


def active_units(units: int, digits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Say which units each row counts.

    Args:
        units: Units of a row.
        digits: Units that one row counts.

    Returns:
        [rows, units] whether the unit counts, and [rows, units] another unit to take idle weights from.
    """
    unit = torch.arange(units)
    rows = torch.arange(-(-units // digits))
    return unit // digits == rows[:, None], (unit - rows[:, None] - 1) % units


def read_counts(output: torch.Tensor, units: int, digits: int) -> list[int]:
    """Read off the product how often each unit was computed.

    Args:
        output: [rows] float32.
        units: Units of a row.
        digits: Units that one row counts.

    Returns:
        One count for each unit; 0 for all units of a row whose output is no sum of its contributions.
    """
    exact = output.double().cpu()
    readable = (exact >= 0) & (exact < 4**digits) & (exact == exact.floor())
    number = torch.where(readable, exact, 0).long()
    counts = number[:, None] >> (2 * torch.arange(digits)) & 3
    return counts.flatten()[:units].tolist()


def split(
    total: int, first_scales: Sequence[int], second_scales: Sequence[int], generator: random.Random
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Write a sum as ``scale0 * dot0 + scale1 * dot1`` with dots of about the same size.

    Args:
        total: The sum.
        first_scales: Primes.
        second_scales: Numbers below twice the smallest of the primes, of which another one is drawn.
        generator: What is drawn from.

    Returns:
        Both scales and both dots.
    """
    first = generator.choice(first_scales)
    second = generator.choice([scale for scale in second_scales if scale != first])
    about = total // (first + second)
    second_dot = about + (total * pow(second, -1, first) - about) % first
    first_dot = (total - second * second_dot) // first
    return (first, second), (first_dot, second_dot)


def draw_values(count: int, last: Sequence[int], generator: random.Random) -> list[int]:
    """Draw activations of either sign, large enough to steer a dot product with.

    Args:
        count: How many.
        last: What the last of them are.
        generator: What is drawn from.
    """
    sizes = [generator.randint(_SMALLEST_VALUE, _LARGEST_VALUE) for _ in range(count - len(last))]
    return [generator.choice((-1, 1)) * size for size in sizes] + list(last)


def weights_with_dot(
    dots: torch.Tensor, values: torch.Tensor, wanted: torch.Tensor, limits: tuple[int, int], last: int
) -> torch.Tensor:
    """Find weights whose dot products with given values are given numbers.

    Each weight takes its share of what the wanted ones leave; the last ones take the rest exactly.

    Args:
        dots: [...] wanted dot products.
        values: [..., elements] activations.
        wanted: [..., elements] what weights should be, where the dot products leave the choice.
        limits: Smallest and largest weight.
        last: How many weights take the rest.

    Raises:
        AssertionError: The values leave a remainder too large for the last weights.
    """
    steered = values.shape[-1] - last
    middle = (limits[0] + limits[1] + 1) // 2
    weights = wanted.clone()
    weights[..., steered:] = middle
    left = dots - (weights * values).sum(dim=-1)
    for element in range(values.shape[-1]):
        value = values[..., element]
        share = left / value / max(steered - element, 1)
        moved = (weights[..., element] + share).round().clamp(*limits).long()
        left -= (moved - weights[..., element]) * value
        weights[..., element] = moved
    if left.any():
        raise AssertionError(
            "exposing weights miss their dot products: the values leave too large a remainder"
        )
    return weights
