"""Launchers with one deliberate defect each, and trials that use them: negative controls of the product."""

from typing import Any

import torch

from guardrail.kernels.kquants.faulty_launches import (
    with_doubled_unit,
    without_last_row,
    without_tail,
)
from guardrail.kernels.kquants.trials import exposing_through, random_through
from guardrail.kernels.q6k import geometry, matvec, trials
from guardrail.kernels.q6k.gate import PLANE_ARMS

_LOOP_OF = {"v2_pf": "v2", "v2_pf_dpl": "v2_dpl"}


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


def with_shifted_scales(
    arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **launch: Any
) -> None:
    """Read the scales of a dense split plane one block too far."""
    if arm in PLANE_ARMS:
        row_blocks = len(groups) // geometry.UNITS_PER_BLOCK
        weights = weights.clone()
        scales = slice(geometry.SCALES_OFFSET * row_blocks, geometry.SUPER_SCALE_OFFSET * row_blocks)
        width = geometry.SUPER_SCALE_OFFSET - geometry.SCALES_OFFSET
        weights[:, scales] = weights[:, scales].roll(-width, dims=1)
    matvec.launch(arm, weights, groups, output, **launch)


def always_looping(
    arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **launch: Any
) -> None:
    """Run the looping arm where the pipelined one is asked for."""
    matvec.launch(_LOOP_OF.get(arm, arm), weights, groups, output, **launch)


_WITHOUT_TAIL = without_tail(matvec.launch)
_WITH_DOUBLED_UNIT = with_doubled_unit(matvec.launch, groups_per_unit=1)
_WITHOUT_LAST_ROW = without_last_row(matvec.launch)

exposing_without_tail = exposing_through(trials.exposing, _WITHOUT_TAIL)
exposing_with_doubled_unit = exposing_through(trials.exposing, _WITH_DOUBLED_UNIT)
exposing_without_last_row = exposing_through(trials.exposing, _WITHOUT_LAST_ROW)
exposing_always_looping = exposing_through(trials.exposing, always_looping)
random_without_tail = random_through(trials.random, _WITHOUT_TAIL)
random_with_doubled_unit = random_through(trials.random, _WITH_DOUBLED_UNIT)
random_without_last_row = random_through(trials.random, _WITHOUT_LAST_ROW)
random_with_v2_reordered = random_through(trials.random, with_v2_reordered)
random_with_shifted_scales = random_through(trials.random, with_shifted_scales)
