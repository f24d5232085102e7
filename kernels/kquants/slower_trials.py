"""A product's twin that does 5% more work, for the timing guards to turn red on."""

from collections.abc import Callable, Sequence

import torch

from guardrail.families.interface import Case
from guardrail.kernels.kquants.trials import ProductTrial

_MORE_WORK = 1.05


class MoreRows:
    """A random product of 5% more rows than the case asks for, of which the case's own are looked at.

    Args:
        random: Makes the trial.
        case: What it is made of, with ``rows``.
        seed: Seed of the inputs.
        device: Where to compute.
    """

    def __init__(
        self, random: Callable[[Case, int, str], ProductTrial], case: Case, seed: int, device: str
    ) -> None:
        self._rows = int(case["rows"])
        self.whole = random({**case, "rows": round(self._rows * _MORE_WORK)}, seed, device)
        self.launch = self.whole.launch
        self.scratch = self.whole.scratch

    @property
    def outputs(self) -> Sequence[torch.Tensor]:
        """Give the case's own part of the product."""
        return [output[..., : self._rows] for output in self.whole.outputs]

    def reference(self) -> Sequence[torch.Tensor]:
        """Compute the case's own part in float64."""
        return [expected[..., : self._rows] for expected in self.whole.reference()]
