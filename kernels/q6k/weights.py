"""The q6_K weights of one matrix in the layouts that an engine holds."""

import torch

from guardrail.families.interface import Case, Choice
from guardrail.kernels.kquants.cuda_operands import Activations, Destination
from guardrail.kernels.q6k import gate, geometry, matvec, served
from guardrail.kernels.q6k.blocks import pad
from guardrail.kernels.q6k.plane import split


class Q6KWeights:
    """Holds padded blocks, and a dense split plane where one is wanted; raw blocks where rows end within one.

    Attributes:
        blocks: [rows, blocks, 210 or 224] uint8.
        plane: [rows, bytes] uint8, or None.
        columns: Elements of a row.
        wants_plane: Whether the engine asked for a plane.
    """

    block_bytes = geometry.RAW_BLOCK_BYTES

    def __init__(
        self, blocks: torch.Tensor, columns: int, plane: torch.Tensor | None, wants_plane: bool
    ) -> None:
        self.blocks = blocks
        self.plane = plane
        self.columns = columns
        self.wants_plane = wants_plane

    @classmethod
    def from_raw(cls, raw: torch.Tensor, columns: int, *, plane: bool) -> "Q6KWeights":
        """Lay raw blocks out.

        A plane for which there is no memory is left out; `lacking` tells.

        Args:
            raw: [rows, blocks, 210] uint8.
            columns: Elements of a row.
            plane: Whether a plane is wanted.
        """
        if columns % geometry.BLOCK_ELEMENTS:
            return cls(raw.contiguous(), columns, None, wants_plane=False)
        return cls(pad(raw), columns, _plane_of(raw) if plane else None, wants_plane=plane)

    @property
    def layout(self) -> str:
        """Name the best layout at hand, as the gate does."""
        if self.plane is not None:
            return "plane"
        return "padded" if self.blocks.shape[-1] == geometry.PADDED_BLOCK_BYTES else "raw"

    @property
    def lacking(self) -> str:
        """Say what the engine asked for and the weights lack; empty where that is nothing."""
        if self.wants_plane and self.plane is None:
            return "the dense split plane is absent although the engine asked for it"
        whole = self.columns % geometry.BLOCK_ELEMENTS == 0
        return "the blocks are not padded although they could be" if whole and self.layout == "raw" else ""

    def axes(self) -> Case:
        """Give the axes of a case that follow from the layouts and from the knob."""
        return {"layout": self.layout, "pipelined": matvec.pipelined_allowed()}

    def pick(self, case: Case) -> Choice:
        """Pick an arm by the gate of production."""
        return gate.pick(case)

    def stored(self, arm: str) -> torch.Tensor:
        """Give the tensor that an arm reads.

        Raises:
            ValueError: There is no plane for an arm that reads one.
        """
        if arm not in gate.PLANE_ARMS:
            return self.blocks
        if self.plane is None:
            raise ValueError(f"arm {arm}: this matrix has no dense split plane")
        return self.plane

    def takes_part_in_norms(self, arm: str) -> bool:
        """Say whether an arm takes part in the norms of a residual stream."""
        return served.takes_part_in_norms(arm, self.stored(arm))

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
        served.launch(arm, self.stored(arm), activations, output, block_units=tile)

    def dequantize(self, blocks: torch.Tensor) -> torch.Tensor:
        """Compute the weights of some rows of blocks: [rows, blocks * 256] float32."""
        return matvec.dequantize(blocks)


def _plane_of(raw: torch.Tensor) -> torch.Tensor | None:
    try:
        return split(raw)
    except torch.OutOfMemoryError:
        return None
