"""Random weights with a seed, as blocks of the formats, so that no file is needed.

Every matrix keeps the size of what it multiplies: normalized inputs give outputs of the order of 1, at any
depth. Each token has a likely successor, as in a trained model: the embedding of a token is partly the row of
the output matrix that belongs to another one.
"""

import math
import zlib

import torch

from guardrail.kernels.q6k import blocks as q6k
from guardrail.kernels.reference_decode.geometry import BLOCK_ELEMENTS, Geometry, has_six_bits
from guardrail.kernels.reference_decode.weights import BLOCK_BYTES, OUTPUT, RawMatrix

OUTPUT_GAIN = 2.0
"""Standard deviation of the logits of an unlikely token."""
TIE = 0.6
"""Share of a token's embedding that points to its successor."""

_SIX_BIT_SCALES = 16
"""Scales of q6_K are drawn from -16 to 15: larger ones would leave its f16 factor few bits."""
_NIBBLE_MEAN = 7.5
_SUCCESSOR_STEP = 7919
_ROWS_AT_ONCE = 8192
_SUPER_SCALE_BYTES = 2

# Standard deviation of a weight whose factor d is 1, of uniform bits: in q6_K of scale * (q - 32), in
# q4_K of scale * q - 7.5 * minimum, with scales and minima from 0 to 63.
_DEVIATION = {
    "q6_k": math.sqrt((64**2 - 1) / 12 + 0.25) * math.sqrt((32**2 - 1) / 12 + 0.25),
    "q4_k": math.sqrt(31.5 * 127 / 3 * (16**2 - 1) / 12 + 2 * _NIBBLE_MEAN**2 * (64**2 - 1) / 12),
}


class RandomWeights:
    """Weights drawn when they are asked for, each from its own seed.

    Args:
        geometry: The model.
        seed: With the tensor's name, the seed of every tensor; another device draws other numbers.
        device: Where they are drawn.
    """

    def __init__(self, geometry: Geometry, seed: int, device: str) -> None:
        self.geometry = geometry
        self._seed = seed
        self._device = device

    def matrix(self, name: str) -> RawMatrix:
        """See `Weights.matrix`."""
        rows, columns = _shape(self.geometry, name)
        gain = OUTPUT_GAIN if name == OUTPUT else 1.0
        quantization = _quantization(self.geometry, name)
        shape = (rows, columns // BLOCK_ELEMENTS, BLOCK_BYTES[quantization])
        generator = self._generator(name)
        raw = torch.randint(0, 256, shape, dtype=torch.uint8, device=self._device, generator=generator)
        factor = gain / math.sqrt(columns) / _DEVIATION[quantization]
        if quantization == "q6_k":
            scales = raw[..., 192:208].view(torch.int8)
            scales.copy_((scales % (2 * _SIX_BIT_SCALES)) - _SIX_BIT_SCALES)
            raw[..., 208:] = _f16_bytes(factor, self._device)
        else:
            raw[..., :_SUPER_SCALE_BYTES] = _f16_bytes(factor, self._device)
            raw[..., _SUPER_SCALE_BYTES:4] = _f16_bytes(_NIBBLE_MEAN * factor, self._device)
        return RawMatrix(quantization, raw)

    def norm(self, name: str) -> torch.Tensor:
        """See `Weights.norm`: around 1."""
        drawn = torch.randn(self.geometry.hidden, device=self._device, generator=self._generator(name))
        return 1.0 + 0.1 * drawn

    def bias(self, name: str) -> torch.Tensor:
        """See `Weights.bias`: small."""
        rows, _ = _shape(self.geometry, name)
        return 0.1 * torch.randn(rows, device=self._device, generator=self._generator(f"{name}.bias"))

    def embedding(self) -> torch.Tensor:
        """See `Weights.embedding`."""
        geometry = self.geometry
        output = self.matrix(OUTPUT).blocks
        table = torch.empty(geometry.vocabulary, geometry.hidden, dtype=torch.float16, device=self._device)
        generator = self._generator("token_embd")
        for start in range(0, geometry.vocabulary, _ROWS_AT_ONCE):
            rows = table[start : start + _ROWS_AT_ONCE]
            token = torch.arange(start, start + len(rows), device=self._device)
            successor = (token * _SUCCESSOR_STEP + 1) % geometry.vocabulary
            pointing = q6k.dequantize(output[successor]).float() * (math.sqrt(geometry.hidden) / OUTPUT_GAIN)
            drawn = torch.randn(rows.shape, device=self._device, generator=generator)
            rows.copy_(TIE * pointing + math.sqrt(1 - TIE**2) * drawn)
        return table

    def _generator(self, name: str) -> torch.Generator:
        return torch.Generator(self._device).manual_seed(zlib.crc32(f"{self._seed} {name}".encode()))


def _shape(geometry: Geometry, name: str) -> tuple[int, int]:
    """Give rows and columns of a matrix."""
    return {
        "attn_q": (geometry.query_columns, geometry.hidden),
        "attn_k": (geometry.kv_columns, geometry.hidden),
        "attn_v": (geometry.kv_columns, geometry.hidden),
        "attn_output": (geometry.hidden, geometry.query_columns),
        "ffn_gate": (geometry.intermediate, geometry.hidden),
        "ffn_up": (geometry.intermediate, geometry.hidden),
        "ffn_down": (geometry.hidden, geometry.intermediate),
        OUTPUT: (geometry.vocabulary, geometry.hidden),
    }[name.rpartition(".")[2]]


def _quantization(geometry: Geometry, name: str) -> str:
    if name == OUTPUT:
        return "q6_k"
    _, layer, tensor = name.split(".")
    return "q6_k" if has_six_bits(tensor, int(layer), geometry.layers) else "q4_k"


def _f16_bytes(value: float, device: str) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float16, device=device).view(torch.uint8)
