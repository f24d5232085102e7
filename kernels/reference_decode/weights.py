"""Where a decode engine's weights come from."""

from dataclasses import dataclass
from typing import Protocol

import torch

from guardrail.kernels.reference_decode.geometry import Geometry

OUTPUT = "output"
OUTPUT_NORM = "output_norm"

BLOCK_BYTES = {"q4_k": 144, "q6_k": 210}
"""Bytes of a block of 256 weights, as files hold it."""


@dataclass(frozen=True, slots=True)
class RawMatrix:
    """A quantized matrix, as files hold it."""

    quantization: str
    blocks: torch.Tensor
    """uint8 [rows, blocks, bytes of a block]."""


class Weights(Protocol):
    """A model's weights by the names of llama.cpp's files, without ``.weight`` and ``.bias``."""

    geometry: Geometry

    def matrix(self, name: str) -> RawMatrix:
        """Give a quantized matrix."""

    def norm(self, name: str) -> torch.Tensor:
        """Give the factors of a norm, fp32 [hidden]."""

    def bias(self, name: str) -> torch.Tensor:
        """Give the bias of a projection, fp32 [rows]; only of a model that has them."""

    def embedding(self) -> torch.Tensor:
        """Give the embedding of every token, fp16 [vocabulary, hidden]."""


def in_layer(layer: int, name: str) -> str:
    """Name a tensor of a layer."""
    return f"blk.{layer}.{name}"
