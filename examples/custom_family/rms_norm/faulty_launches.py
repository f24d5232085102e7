"""Launchers with one deliberate defect each, and trials that use them."""

from collections.abc import Callable
from dataclasses import replace

import torch

from guardrail.families import Case
from rms_norm import geometry, trials
from rms_norm.launch import launch


def always_looped(arm: str, x: torch.Tensor, weight: torch.Tensor, output: torch.Tensor) -> None:
    """Run the loop whatever arm is asked for."""
    launch("looped", x, weight, output)


def without_last_unit(arm: str, x: torch.Tensor, weight: torch.Tensor, output: torch.Tensor) -> None:
    """Compute as if the last unit of every row were zero."""
    shortened = x.clone()
    shortened[:, -geometry.UNIT_COLUMNS :] = 0
    launch(arm, shortened, weight, output)


def with_doubled_unit(arm: str, x: torch.Tensor, weight: torch.Tensor, output: torch.Tensor) -> None:
    """Sum the squares of the first unit of every row twice."""
    factor = torch.ones_like(weight)
    factor[: geometry.UNIT_COLUMNS] = 2**0.5
    launch(arm, x * factor, weight / factor, output)


def without_last_row(arm: str, x: torch.Tensor, weight: torch.Tensor, output: torch.Tensor) -> None:
    """Leave the last row unwritten."""
    launch(arm, x[:-1], weight, output[:-1])


def _exposing_through(launcher: Callable[..., None]) -> Callable[[Case, str], trials.ExposingNorm]:
    return lambda case, device: replace(trials.exposing(case, device), launcher=launcher)


def _random_through(launcher: Callable[..., None]) -> Callable[[Case, int, str], trials.RandomNorm]:
    return lambda case, seed, device: replace(trials.random(case, seed, device), launcher=launcher)


exposing_always_looped = _exposing_through(always_looped)
exposing_without_last_unit = _exposing_through(without_last_unit)
exposing_with_doubled_unit = _exposing_through(with_doubled_unit)
exposing_without_last_row = _exposing_through(without_last_row)
random_without_last_unit = _random_through(without_last_unit)
random_without_last_row = _random_through(without_last_row)
