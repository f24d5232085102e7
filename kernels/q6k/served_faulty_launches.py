"""What serves on a GPU with one deliberate defect each: negative controls of the product."""

from dataclasses import replace
from typing import Any

import torch

from guardrail.kernels.kquants.faulty_launches import with_doubled_unit, without_last_row, without_tail
from guardrail.kernels.kquants.trials import exposing_through, random_through
from guardrail.kernels.q6k import cuda_matvec, served, trials

_LOOP_OF = {"v2_pf": "v2", "v2_pf_dpl": "v2_dpl"}


def with_v2_reordered(
    arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **launch: Any
) -> None:
    """Share a row of v2 among half as many lanes: the same terms, added in another order."""
    if arm == "v2":
        course = cuda_matvec.pick_course(len(output), len(groups))
        halved = replace(course, lanes_per_row=course.lanes_per_row // 2)
        cuda_matvec.launch(arm, weights, groups, output, course=halved)
    else:
        served.launch(arm, weights, groups, output, **launch)


def always_looping(
    arm: str, weights: torch.Tensor, groups: torch.Tensor, output: torch.Tensor, **launch: Any
) -> None:
    """Run the looping arm where the pipelined one is asked for."""
    served.launch(_LOOP_OF.get(arm, arm), weights, groups, output, **launch)


_WITHOUT_TAIL = without_tail(served.launch)
_WITH_DOUBLED_UNIT = with_doubled_unit(served.launch, groups_per_unit=1)
_WITHOUT_LAST_ROW = without_last_row(served.launch)

exposing_without_tail = exposing_through(trials.exposing, _WITHOUT_TAIL)
exposing_with_doubled_unit = exposing_through(trials.exposing, _WITH_DOUBLED_UNIT)
exposing_without_last_row = exposing_through(trials.exposing, _WITHOUT_LAST_ROW)
exposing_always_looping = exposing_through(trials.exposing, always_looping)
random_without_tail = random_through(trials.random, _WITHOUT_TAIL)
random_with_doubled_unit = random_through(trials.random, _WITH_DOUBLED_UNIT)
random_without_last_row = random_through(trials.random, _WITHOUT_LAST_ROW)
random_with_v2_reordered = random_through(trials.random, with_v2_reordered)
