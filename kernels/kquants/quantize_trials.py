"""Executable instances of the activations' quantization, for guardrail's probes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from guardrail.families.interface import Case
from guardrail.kernels.kquants import activations, geometry, random_bytes
from guardrail.kernels.kquants.trials import tokens_of

_TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}
_EXPONENTS = (-30, 12)
"""Range of the groups' magnitudes: the smallest underflow the float16 scale."""


@dataclass(frozen=True, slots=True)
class QuantizeTrial:
    """Vectors and a place for their groups."""

    vector: torch.Tensor
    groups: torch.Tensor
    launcher: Callable[[torch.Tensor, torch.Tensor], None] = activations.quantize_into

    @property
    def outputs(self) -> Sequence[torch.Tensor]:
        """Give the groups, bytes."""
        return (self.groups,)

    @property
    def scratch(self) -> Sequence[torch.Tensor]:
        """Give nothing."""
        return ()

    def launch(self, arm: str) -> None:
        """Quantize.

        Args:
            arm: ``quantize_q8``, the only one.
        """
        self.launcher(self.vector, self.groups)

    def reference(self) -> Sequence[torch.Tensor]:
        """Quantize in torch."""
        return [activations.quantize(self.vector)]


def units(case: Case) -> int:
    """Count the groups of one vector."""
    return int(case["id"]) // geometry.GROUP_ELEMENTS


def random(case: Case, seed: int, device: str) -> QuantizeTrial:
    """Make a trial of vectors whose groups have any exponent, are zero, or hold nothing but ties.

    Args:
        case: Axes ``id``, ``dtype`` and optionally ``tokens``.
        seed: Seed.
        device: Where the tensors are made and live.
    """
    drawn = random_bytes.generator(seed, device)
    shape = (tokens_of(case), units(case), geometry.GROUP_ELEMENTS)
    groups = torch.randn(shape, generator=drawn, device=device)
    exponents = torch.randint(*_EXPONENTS, shape[:2], generator=drawn, device=device)
    groups *= torch.exp2(exponents.float()).unsqueeze(-1)
    groups[:, ::7] = 0
    groups[:, 1::3] = _ties(groups[:, 1::3].shape, drawn)
    vector = groups.flatten(1).to(_TYPES[str(case["dtype"])])
    return QuantizeTrial(vector, activations.empty(shape[0], vector.shape[1], device))


def _ties(shape: torch.Size, drawn: torch.Generator) -> torch.Tensor:
    """Make groups of numbers halfway between two steps: exact in float32, where a division decides them."""
    device = drawn.device
    scale = (torch.rand(shape[:2], generator=drawn, device=device) + 0.5).to(torch.float16).float()
    largest = geometry.LARGEST_VALUE
    steps = torch.randint(-largest, largest, shape, generator=drawn, device=device)
    halves = steps + 0.5
    halves[..., 0] = largest
    return halves * scale.unsqueeze(-1)
