"""Launchers with one deliberate defect each, and trials that use them: negative controls of the product."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from guardrail.families.interface import Case
from guardrail.kernels.q6k import activations, geometry, matvec, trials


def without_tail(
    arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **launch: Any
) -> None:
    """Leave the last block of every row out of the product."""
    shortened = groups.clone()
    activations.scales(shortened)[-geometry.UNITS_PER_BLOCK :] = 0
    matvec.launch(arm, weights, shortened, output, **launch)


def with_doubled_unit(
    arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **launch: Any
) -> None:
    """Add one unit of every row twice."""
    doubled = groups.clone()
    activations.scales(doubled)[len(groups) // 2] *= 2
    matvec.launch(arm, weights, doubled, output, **launch)


def without_last_row(
    arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **launch: Any
) -> None:
    """Leave the last output unwritten."""
    matvec.launch(arm, weights[:-1], groups, output[:-1], **launch)


def with_v2_reordered(
    arm: str,
    weights: torch.Tensor,
    groups: torch.Tensor,
    output: torch.Tensor,
    block_units: int,
    **launch: Any,
) -> None:
    """Run v2 in tiles of half the size: the same terms, added in another order."""
    tile = block_units // 2 if arm == "v2" else block_units
    matvec.launch(arm, weights, groups, output, block_units=tile, **launch)


def always_v2(
    arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **launch: Any
) -> None:
    """Run v2 whatever arm is asked for."""
    matvec.launch("v2", weights, groups, output, **launch)


def _exposing_through(launcher: Callable[..., None]) -> Callable[[Case, str], trials.ExposingMatvec]:
    return lambda case, device: replace(trials.exposing(case, device), launcher=launcher)


def _random_through(launcher: Callable[..., None]) -> Callable[[Case, int, str], trials.RandomMatvec]:
    return lambda case, seed, device: replace(trials.random(case, seed, device), launcher=launcher)


exposing_without_tail = _exposing_through(without_tail)
exposing_with_doubled_unit = _exposing_through(with_doubled_unit)
exposing_without_last_row = _exposing_through(without_last_row)
exposing_always_v2 = _exposing_through(always_v2)
random_without_tail = _random_through(without_tail)
random_with_doubled_unit = _random_through(with_doubled_unit)
random_without_last_row = _random_through(without_last_row)
random_with_v2_reordered = _random_through(with_v2_reordered)
