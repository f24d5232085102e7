"""Trials of the arms, which need torch and no Triton."""

from dataclasses import dataclass, field

import torch

from guardrail.families import Case

from .gate import covered_by_tile, units  # noqa: TID252 - as a user's package may


@dataclass
class Doubling:
    case: Case
    inputs: torch.Tensor
    outputs: list[torch.Tensor] = field(init=False)
    scratch: list[torch.Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outputs = [torch.empty_like(self.inputs)]

    def launch(self, arm: str) -> None:
        done = units(self.case) if arm == "loop" else covered_by_tile(self.case)
        self.outputs[0][:done] = 2 * self.inputs[:done]

    def unit_counts(self) -> list[list[int]]:
        return [(torch.nan_to_num(self.outputs[0]) / 2).int().tolist()]

    def reference(self) -> list[torch.Tensor]:
        return [2 * self.inputs.double()]


def exposing(case: Case, device: str) -> Doubling:
    return Doubling(case, torch.ones(units(case), device=device))


def random(case: Case, seed: int, device: str) -> Doubling:
    values = torch.randn(units(case), generator=torch.Generator().manual_seed(seed))
    return Doubling(case, values.to(device))


def random_without_the_last(case: Case, seed: int, device: str) -> Doubling:
    trial = random(case, seed, device)
    trial.inputs[-1] = 0.0
    trial.reference = lambda: [torch.ones_like(trial.inputs, dtype=torch.float64)]
    return trial
