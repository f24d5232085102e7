"""Trials whose launchers have one deliberate defect each: negative controls of the product."""

from typing import Any

import torch

from guardrail.kernels.kquants.faulty_launches import (
    with_doubled_unit,
    without_last_row,
    without_tail,
)
from guardrail.kernels.kquants.gate import FALLBACK
from guardrail.kernels.kquants.trials import exposing_through, random_through
from guardrail.kernels.q4k import geometry, matvec, trials

_WITHOUT_TAIL = without_tail(matvec.launch)
_WITH_DOUBLED_UNIT = with_doubled_unit(matvec.launch, geometry.GROUPS_PER_UNIT)
_WITHOUT_LAST_ROW = without_last_row(matvec.launch)


def _always_fallback(_arm: str, *tensors: torch.Tensor, **options: Any) -> None:
    matvec.launch(FALLBACK, *tensors, **options)


exposing_without_tail = exposing_through(trials.exposing, _WITHOUT_TAIL)
exposing_with_doubled_unit = exposing_through(trials.exposing, _WITH_DOUBLED_UNIT)
exposing_without_last_row = exposing_through(trials.exposing, _WITHOUT_LAST_ROW)
exposing_always_fallback = exposing_through(trials.exposing, _always_fallback)
random_without_tail = random_through(trials.random, _WITHOUT_TAIL)
random_with_doubled_unit = random_through(trials.random, _WITH_DOUBLED_UNIT)
random_without_last_row = random_through(trials.random, _WITHOUT_LAST_ROW)
