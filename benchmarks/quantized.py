"""Quantized matrices of real shapes, in copies beyond the L2, and the ways to multiply with them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch

from guardrail.kernels.kquants import activations, cuda_quantize, random_bytes
from guardrail.kernels.kquants.geometry import BLOCK_ELEMENTS, GROUP_BYTES, GROUP_ELEMENTS
from guardrail.kernels.q4k import cuda_matvec as q4k_cuda
from guardrail.kernels.q4k import geometry as q4k_geometry
from guardrail.kernels.q4k import matvec as q4k_triton
from guardrail.kernels.q4k import reference as q4k_reference
from guardrail.kernels.q6k import blocks, geometry, plane
from guardrail.kernels.q6k import cuda_matvec as q6k_cuda
from guardrail.kernels.q6k import matvec as q6k_triton
from guardrail.kernels.q6k import reference as q6k_reference

_BLOCK_BYTES = {"q6_k": geometry.RAW_BLOCK_BYTES, "q4_k": q4k_geometry.BLOCK_BYTES}
_FACTORS = {"q6_k": 1, "q4_k": 2}
_TIMES_L2 = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """One matrix of a model."""

    name: str
    quantization: str
    rows: int
    columns: int

    @property
    def content_bytes(self) -> int:
        """Count the bytes that the weights have as files hold them."""
        return self.rows * (self.columns // BLOCK_ELEMENTS) * _BLOCK_BYTES[self.quantization]

    @property
    def copies(self) -> int:
        """Count the copies that no L2 holds together."""
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        return max(2, -(-_TIMES_L2 * l2 // self.content_bytes))

    def random_raw(self, seed: int) -> torch.Tensor:
        """Draw random blocks with factors around 2**-10: [rows, blocks, bytes] uint8.

        Args:
            seed: Seed.
        """
        drawn = random_bytes.generator(seed, "cuda")
        shape = (self.rows, self.columns // BLOCK_ELEMENTS)
        factors = random_bytes.factors((*shape, _FACTORS[self.quantization]), drawn)
        width = _BLOCK_BYTES[self.quantization] - factors.shape[-1]
        quantized = random_bytes.quantized((*shape, width), drawn)
        parts = [quantized, factors] if self.quantization == "q6_k" else [factors, quantized]
        return torch.cat(parts, dim=-1)

    def product(self, raw: torch.Tensor, groups: torch.Tensor) -> torch.Tensor:
        """Multiply in float64.

        Args:
            raw: [rows, blocks, bytes] uint8.
            groups: [columns / 32, 40] uint8.
        """
        reference = q6k_reference if self.quantization == "q6_k" else q4k_reference
        return reference.product(raw, groups)


@dataclass(frozen=True, slots=True)
class Way:
    """One implementation of a product."""

    toolkit: str
    arm: str
    quantize: Callable[[torch.Tensor, torch.Tensor], None]
    launch: Callable[..., None]

    def layout(self, raw: torch.Tensor) -> torch.Tensor:
        """Bring raw blocks into the layout that the arm reads.

        Args:
            raw: [rows, blocks, bytes] uint8.
        """
        if self.arm.endswith("_dpl"):
            return plane.split(raw)
        return blocks.pad(raw) if self.arm.startswith("v2") else raw


def ways(quantization: str, columns: int) -> Iterator[Way]:
    """List the ways to compute a product: the arms that the gate picks, on either layout.

    Args:
        quantization: ``q6_k`` or ``q4_k``.
        columns: Elements of a row.
    """
    q6k = quantization == "q6_k"
    pipelined = geometry.tile_elements(geometry.BLOCK_UNITS) < columns
    pipelined = pipelined and columns <= geometry.pipelined_reach(geometry.BLOCK_UNITS)
    arms = (("v2_pf_dpl", "v2_pf") if pipelined else ("v2_dpl", "v2")) if q6k else ("mmvq",)
    for arm in arms:
        yield Way("cuda", arm, cuda_quantize.quantize_into, (q6k_cuda if q6k else q4k_cuda).launch)
        yield Way("triton", arm, activations.quantize_into, (q6k_triton if q6k else q4k_triton).launch)


@dataclass(frozen=True, slots=True)
class Calls:
    """A product over rotating copies of its weights, with the quantization of its vector."""

    shape: Shape
    weights: tuple[torch.Tensor, ...]
    vector: torch.Tensor
    groups: torch.Tensor
    output: torch.Tensor

    @classmethod
    def make(cls, shape: Shape, way: Way, seed: int) -> "Calls":
        """Draw a vector and copies of weights in the layout of a way.

        Args:
            shape: The matrix.
            way: What reads it.
            seed: Seed of the first copy.
        """
        return cls(
            shape,
            tuple(way.layout(shape.random_raw(seed + copy)) for copy in range(shape.copies)),
            torch.randn(shape.columns, device="cuda"),
            torch.empty(shape.columns // GROUP_ELEMENTS, GROUP_BYTES, dtype=torch.uint8, device="cuda"),
            torch.empty(shape.rows, device="cuda"),
        )

    @property
    def streamed_bytes(self) -> int:
        """Count the bytes of one copy, padding included."""
        return self.weights[0].numel()

    def of(self, way: Way, **options: object) -> list[Callable[[], None]]:
        """Give one call for each copy.

        Args:
            way: How to multiply.
            **options: For its launcher.
        """
        return [partial(self._call, way, weights, options) for weights in self.weights]

    def _call(self, way: Way, weights: torch.Tensor, options: dict[str, object]) -> None:
        way.quantize(self.vector, self.groups)
        way.launch(way.arm, weights, self.groups, self.output, **options)
