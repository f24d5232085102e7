"""A loaded model: its quantized matrices, joined where they multiply the same activations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from guardrail.errors import MeasurementError
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.reference_decode.geometry import Geometry
from guardrail.kernels.reference_decode.weights import OUTPUT, OUTPUT_NORM, RawMatrix, Weights, in_layer

MakeMatrix = Callable[[str, RawMatrix], QuantizedMatrix]


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer."""

    attention_norm: torch.Tensor
    query_key: QuantizedMatrix
    """Queries and keys, and values behind them where they have the same quantization."""
    value: QuantizedMatrix | None
    """Values; None where they are part of `query_key`."""
    bias: torch.Tensor | None
    """Of queries, keys and values, fp32."""
    attention_output: QuantizedMatrix
    ffn_norm: torch.Tensor
    gate_up: QuantizedMatrix
    down: QuantizedMatrix

    def normed_readers(self) -> tuple[QuantizedMatrix, ...]:
        """List the matrices that multiply what the layer begins with."""
        return (self.query_key,) if self.value is None else (self.query_key, self.value)

    def matrices(self) -> Iterator[QuantizedMatrix]:
        """List the matrices in the order in which a step multiplies them."""
        yield from self.normed_readers()
        yield from (self.attention_output, self.gate_up, self.down)


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that a step reads and does not write."""

    geometry: Geometry
    embedding: torch.Tensor
    """fp16 [vocabulary, hidden]."""
    layers: tuple[Layer, ...]
    norm: torch.Tensor
    output: QuantizedMatrix
    cosines: torch.Tensor
    """fp32 [context, head size / 2]."""
    sines: torch.Tensor
    """Shaped as the cosines."""

    def matrices(self) -> Iterator[QuantizedMatrix]:
        """List the matrices in the order in which a step multiplies them."""
        for layer in self.layers:
            yield from layer.matrices()
        yield self.output

    @property
    def weight_bytes_per_step(self) -> int:
        """Size the quantized weights, as files hold them."""
        return sum(matrix.weight_bytes for matrix in self.matrices())


def load_model(weights: Weights, make: MakeMatrix, context: int, device: str) -> Model:
    """Read all weights of a model.

    Args:
        weights: Where they come from.
        make: Makes a matrix of blocks.
        context: Positions to tabulate the rotary embedding for.
        device: Where the tables go.
    """
    geometry = weights.geometry
    cosines, sines = _rotary_tables(geometry, context)
    return Model(
        geometry=geometry,
        embedding=weights.embedding(),
        layers=tuple(_load_layer(weights, make, layer) for layer in range(geometry.layers)),
        norm=weights.norm(OUTPUT_NORM),
        output=make(OUTPUT, weights.matrix(OUTPUT)),
        cosines=cosines.to(device),
        sines=sines.to(device),
    )


def _load_layer(weights: Weights, make: MakeMatrix, layer: int) -> Layer:
    def read(name: str) -> RawMatrix:
        return weights.matrix(in_layer(layer, name))

    def matrix(name: str, *parts: RawMatrix) -> QuantizedMatrix:
        return make(in_layer(layer, name), _joined(in_layer(layer, name), parts))

    query, key, value = "attn_q", "attn_k", "attn_v"
    values = read(value)
    queries_keys = (read(query), read(key))
    same = values.quantization == queries_keys[0].quantization
    bias = None
    if weights.geometry.biased:
        bias = torch.cat([weights.bias(in_layer(layer, name)) for name in (query, key, value)])
    return Layer(
        attention_norm=weights.norm(in_layer(layer, "attn_norm")),
        query_key=matrix("attn_qkv", *queries_keys, values) if same else matrix("attn_qk", *queries_keys),
        value=None if same else matrix(value, values),
        bias=bias,
        attention_output=matrix("attn_output", read("attn_output")),
        ffn_norm=weights.norm(in_layer(layer, "ffn_norm")),
        gate_up=matrix("ffn_gate_up", read("ffn_gate"), read("ffn_up")),
        down=matrix("ffn_down", read("ffn_down")),
    )


def _joined(name: str, parts: Sequence[RawMatrix]) -> RawMatrix:
    """Put the rows of several matrices into one.

    Raises:
        MeasurementError: They have different quantizations.
    """
    quantizations = {part.quantization for part in parts}
    if len(quantizations) > 1:
        kinds = " and ".join(sorted(quantizations))
        raise MeasurementError(
            f"{name}: its parts are {kinds}, and the engine multiplies them at once; quantize the model as "
            "Q4_K_M"
        )
    return RawMatrix(quantizations.pop(), torch.cat([part.blocks for part in parts]))


def _rotary_tables(geometry: Geometry, context: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tabulate cosine and sine of ``position * theta ** (-2 i / head size)``, in float64 at first."""
    half = geometry.head_size // 2
    frequency = geometry.rope_theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(context, dtype=torch.float64)[:, None] * frequency
    return angle.cos().float(), angle.sin().float()
