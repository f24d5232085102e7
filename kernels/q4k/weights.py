"""The q4_K weights of one matrix, held as files hold them: their blocks are aligned already."""

import torch

from guardrail.families.interface import Case, Choice
from guardrail.kernels.kquants.cuda_operands import Activations, Destination
from guardrail.kernels.q4k import gate, geometry, matvec, served


class Q4KWeights:
    """Holds blocks.

    Attributes:
        blocks: [rows, blocks, 144] uint8.
        columns: Elements of a row.
    """

    block_bytes = geometry.BLOCK_BYTES
    lacking = ""

    def __init__(self, blocks: torch.Tensor, columns: int) -> None:
        self.blocks = blocks
        self.columns = columns

    @classmethod
    def from_raw(cls, raw: torch.Tensor, columns: int, *, plane: bool) -> "Q4KWeights":
        """Hold raw blocks.

        Args:
            raw: [rows, blocks, 144] uint8.
            columns: Elements of a row.
            plane: Without effect: the format has no padding that a plane would save.
        """
        return cls(raw.contiguous(), columns)

    def axes(self) -> Case:
        """Give no axes: there is one layout."""
        return {}

    def pick(self, case: Case) -> Choice:
        """Pick an arm by the gate of production."""
        return gate.pick(case)

    def stored(self, arm: str) -> torch.Tensor:
        """Give the tensor that an arm reads: the same for every arm."""
        return self.blocks

    def takes_part_in_norms(self, arm: str) -> bool:
        """Say whether an arm takes part in the norms of a residual stream."""
        return served.takes_part_in_norms(arm, self.blocks, self.columns)

    def launch(
        self, arm: str, activations: Activations, output: Destination, block_units: int | None
    ) -> None:
        """Run a matrix-vector arm.

        Args:
            arm: Its name.
            activations: [columns / 32, 40] uint8; or unnormalized groups, where the arm takes part in norms.
            output: [rows] float32, written; or a residual stream, where the arm does.
            block_units: Units in a tile; None for what is shipped.
        """
        tile = block_units or geometry.BLOCK_UNITS
        served.launch(arm, self.blocks, activations, output, block_units=tile)

    def dequantize(self, blocks: torch.Tensor) -> torch.Tensor:
        """Compute the weights of some rows of blocks: [rows, blocks * 256] float32."""
        return matvec.dequantize(blocks)
