"""A quantized matrix of an engine: its weights in the layouts of the arms, and the product behind a gate."""

from collections.abc import Callable
from typing import Protocol

import torch

from guardrail.families.interface import Case, Choice
from guardrail.kernels.kquants import dequantized, geometry, served
from guardrail.kernels.kquants.activations import dequantize, empty
from guardrail.kernels.kquants.arm_counts import ArmCounts
from guardrail.kernels.kquants.cuda_course import processors
from guardrail.kernels.kquants.cuda_operands import Activations, Destination, plain_operands
from guardrail.kernels.kquants.gate import FALLBACK
from guardrail.kernels.q4k.weights import Q4KWeights
from guardrail.kernels.q6k.weights import Q6KWeights

_FORMATS = {"q4_k": Q4KWeights, "q6_k": Q6KWeights}

Pick = Callable[[Case], Choice]


class Weights(Protocol):
    """The weights of one matrix in every layout that an engine holds."""

    columns: int

    @property
    def blocks(self) -> torch.Tensor:
        """[rows, blocks, bytes] uint8, as the fallback reads them."""

    @property
    def lacking(self) -> str:
        """Say what the engine asked for and the weights lack; empty where that is nothing."""

    def axes(self) -> Case:
        """Give the axes of a case that follow from the format and its layouts."""

    def pick(self, case: Case) -> Choice:
        """Pick an arm by the gate of production."""

    def stored(self, arm: str) -> torch.Tensor:
        """Give the tensor that an arm reads."""

    def takes_part_in_norms(self, arm: str) -> bool:
        """Say whether an arm takes part in the norms of a residual stream."""

    def launch(
        self, arm: str, activations: Activations, output: Destination, block_units: int | None
    ) -> None:
        """Run a matrix-vector arm."""

    def dequantize(self, blocks: torch.Tensor) -> torch.Tensor:
        """Compute the weights of some rows of blocks: [rows, blocks * 256] float32."""


class QuantizedMatrix:
    """Multiplies one k-quantized matrix with activations by the arm that its gate picks.

    Attributes:
        name: Name of the tensor, by which products are counted.
        rows: Output features.
        columns: Input features.
        weight_bytes: Bytes that the weights have as files hold them: what a product must read at least.
    """

    def __init__(
        self,
        name: str,
        weights: Weights,
        weight_bytes: int,
        *,
        threshold: int,
        pick: Pick | None,
        block_units: int | None,
        counts: ArmCounts | None,
    ) -> None:
        self.name = name
        self.rows = len(weights.blocks)
        self.columns = weights.columns
        self.weight_bytes = weight_bytes
        self._weights = weights
        self._pick = pick or weights.pick
        self._block_units = block_units
        self._counts = counts
        self._axes = {"id": self.columns, "rows": self.rows, "threshold": threshold, **weights.axes()}
        if block_units is not None:
            self._axes["block_units"] = block_units
        self._groups = empty(1, self.columns, weights.blocks.device)

    @classmethod
    def from_raw(
        cls,
        name: str,
        quantization: str,
        raw: torch.Tensor,
        device: torch.device | str,
        *,
        plane: bool,
        columns: int | None = None,
        threshold: int = geometry.MATVEC_THRESHOLD,
        pick: Pick | None = None,
        block_units: int | None = None,
        counts: ArmCounts | None = None,
    ) -> "QuantizedMatrix":
        """Bring a matrix, as files hold it, into the layouts that its arms read.

        Args:
            name: Name of the tensor.
            quantization: ``q4_k`` or ``q6_k``.
            raw: [rows, blocks, 144 or 210] uint8.
            device: Where to hold it.
            plane: Whether to hold q6_K weights as a dense split plane, beside the padded blocks.
            columns: Input features, where the last block of a row is not full; all of its blocks by default.
            threshold: Elements of the smallest matrix that a matrix-vector arm serves.
            pick: The gate; the one of production by default.
            block_units: Units side by side in a tile of the arms; what they are shipped with by default.
            counts: Where products are counted.

        Raises:
            ValueError: There is no such quantization, or the bytes are not of its shape.
        """
        if quantization not in _FORMATS:
            known = " and ".join(sorted(_FORMATS))
            raise ValueError(f"{name}: quantization {quantization!r}; a quantized matrix is {known}")
        stored = _FORMATS[quantization]
        _, row_blocks, block_bytes = raw.shape
        full = row_blocks * geometry.BLOCK_ELEMENTS
        columns = full if columns is None else columns
        if block_bytes != stored.block_bytes or not full - geometry.BLOCK_ELEMENTS < columns <= full:
            raise ValueError(
                f"{name}: {columns} columns of {quantization} are rows of "
                f"{-(-columns // geometry.BLOCK_ELEMENTS)} blocks of {stored.block_bytes} bytes; "
                f"got {row_blocks} of {block_bytes}"
            )
        weights = stored.from_raw(raw.to(device), columns, plane=plane)
        return cls(
            name,
            weights,
            raw.numel(),
            threshold=threshold,
            pick=pick,
            block_units=block_units,
            counts=counts,
        )

    def streamed_bytes(self, arm: str) -> int:
        """Count the bytes of weights that an arm reads, padding between blocks or rows included.

        Args:
            arm: Name of the arm.
        """
        return self._weights.stored(arm).numel()

    def choice(self, tokens: int) -> Choice:
        """Ask the gate which arm serves a number of tokens.

        Args:
            tokens: Rows of activations.
        """
        return self._pick({**self._axes, "tokens": tokens})

    def multiply(self, vector: torch.Tensor, out: torch.Tensor) -> None:
        """Multiply activations with the matrix, quantizing them where a matrix-vector arm serves.

        Allocates nothing for one token on a matrix-vector arm, so that it can be captured in a CUDA graph.

        Args:
            vector: [tokens, columns] of any float type, contiguous.
            out: [tokens, rows] float32, written.
        """
        choice = self._count(len(vector))
        if choice.arm == FALLBACK:
            dequantized.multiply(self._weights.blocks, self._weights.dequantize, vector, out)
        else:
            served.quantize_into(vector, self._groups)
            self._weights.launch(choice.arm, self._groups[0], out[0], self._block_units)

    def multiply_quantized(self, activations: Activations, out: Destination) -> None:
        """Multiply activations that are quantized already, so that matrices can share one quantization.

        Args:
            activations: [tokens, columns / 32, 40] uint8 q8 groups, contiguous; or unnormalized ones of one
                token, where the matrix `completes_norms`.
            out: [tokens, rows] float32, written; or the residual stream that the product of one token is
                added to, where the matrix `adds_in_place`.

        Raises:
            ValueError: The operands ask for a norm, and the arm takes no part in norms.
        """
        choice = self._count(len(activations) if isinstance(activations, torch.Tensor) else 1)
        if choice.arm == FALLBACK:
            groups, output = plain_operands(choice.arm, activations, out)
            vectors = dequantize(groups, torch.float32)
            dequantized.multiply(self._weights.blocks, self._weights.dequantize, vectors, output)
            return
        operand = activations[0] if isinstance(activations, torch.Tensor) else activations
        destination = out[0] if isinstance(out, torch.Tensor) else out
        self._weights.launch(choice.arm, operand, destination, self._block_units)

    @property
    def quantizes(self) -> bool:
        """Whether one token's activations are quantized for it: its arm is not the fallback."""
        return self.choice(tokens=1).arm != FALLBACK

    @property
    def completes_norms(self) -> bool:
        """Whether its product of one token can complete the norm of unnormalized groups."""
        return self.quantizes and self._weights.takes_part_in_norms(self.choice(tokens=1).arm)

    @property
    def adds_in_place(self) -> bool:
        """Whether its product of one token can be added to a residual stream, whose norm it leaves to others.

        Each block adds the rows of one q8 group. Where there are more groups than SMs, some SMs would compute
        two while the others wait, for longer than a norm of its own takes.
        """
        groups, rest = divmod(self.rows, geometry.GROUP_ELEMENTS)
        return self.completes_norms and rest == 0 and groups <= processors(self._groups.device.index)

    def _count(self, tokens: int) -> Choice:
        """Pick an arm and count the product, told apart by whether what the weights lack decided."""
        choice = self.choice(tokens)
        if self._counts is not None:
            lacking = self._weights.lacking if choice.arm != FALLBACK else ""
            named = Choice(choice.arm, because=lacking or choice.because)
            self._counts.count(self.name, named, intended=not lacking)
        return choice
