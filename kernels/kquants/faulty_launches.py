"""Defects that a launcher of any quantized product can have: negative controls of the products."""

from typing import Any

import torch

from guardrail.kernels.kquants import activations, geometry
from guardrail.kernels.kquants.trials import Launcher


def without_tail(launch: Launcher) -> Launcher:
    """Leave the last block of every row out of the product."""

    def faulty(
        arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **options: Any
    ) -> None:
        shortened = groups.clone()
        activations.scales(shortened)[..., -geometry.BLOCK_ELEMENTS // geometry.GROUP_ELEMENTS :] = 0
        launch(arm, weights, shortened, output, **options)

    return faulty


def with_doubled_unit(launch: Launcher, groups_per_unit: int) -> Launcher:
    """Add one unit of every row twice."""

    def faulty(
        arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **options: Any
    ) -> None:
        doubled = groups.clone()
        first = groups.shape[-2] // groups_per_unit // 2 * groups_per_unit
        activations.scales(doubled)[..., first : first + groups_per_unit] *= 2
        launch(arm, weights, doubled, output, **options)

    return faulty


def without_last_row(launch: Launcher) -> Launcher:
    """Leave the last output unwritten."""

    def faulty(
        arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **options: Any
    ) -> None:
        launch(arm, weights[:-1], groups, output[..., :-1], **options)

    return faulty
