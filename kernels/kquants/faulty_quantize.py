"""Quantizers with one deliberate defect each: negative controls of the activations' quantization."""

from collections.abc import Callable
from dataclasses import replace

import torch

from guardrail.families.interface import Case
from guardrail.kernels.kquants import activations, geometry, quantize_trials


def by_reciprocal(vector: torch.Tensor, groups: torch.Tensor) -> None:
    """Multiply with the reciprocal of the scale instead of dividing by it."""
    activations.quantize_into(vector, groups)
    scale = activations.scales(groups).clone()
    factor = scale.float()
    inverse = torch.where(factor > 0, 1 / factor, 0).unsqueeze(-1)
    values = (vector.float().unflatten(-1, (-1, geometry.GROUP_ELEMENTS)) * inverse).round()
    values = values.clamp(-geometry.LARGEST_VALUE, geometry.LARGEST_VALUE)
    groups.copy_(activations.assemble(values.to(torch.int8), scale))


def without_last_group(vector: torch.Tensor, groups: torch.Tensor) -> None:
    """Leave the last group of every vector unwritten."""
    written = groups.clone()
    activations.quantize_into(vector, written)
    groups[:, :-1] = written[:, :-1]


def _through(
    launcher: Callable[[torch.Tensor, torch.Tensor], None],
) -> Callable[[Case, int, str], quantize_trials.QuantizeTrial]:
    return lambda case, seed, device: replace(quantize_trials.random(case, seed, device), launcher=launcher)


random_by_reciprocal = _through(by_reciprocal)
random_without_last_group = _through(without_last_group)
