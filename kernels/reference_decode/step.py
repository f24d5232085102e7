"""One decode step: every launch of it on buffers that stay where they are, so that it can be captured."""

from dataclasses import dataclass

import torch

from guardrail.kernels.int4_attention.attention import Attention
from guardrail.kernels.kquants import activations
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.reference_decode import launch
from guardrail.kernels.reference_decode.attention import Places, attend
from guardrail.kernels.reference_decode.budget import BLOCK_SIZE
from guardrail.kernels.reference_decode.cache import KvCache
from guardrail.kernels.reference_decode.geometry import Geometry
from guardrail.kernels.reference_decode.model import Layer, Model


@dataclass(frozen=True, slots=True)
class Buffers:
    """What a step writes."""

    tokens: torch.Tensor
    """Token that each sequence is at, int64 [sequences]; the next one after a step."""
    places: Places
    steps: torch.Tensor
    """Steps since the start, int64 [1]."""
    history: torch.Tensor
    """Greedy token of every step, int64 [steps, sequences]."""
    residual: torch.Tensor
    """fp32 [sequences, hidden]."""
    delta: torch.Tensor
    """What is added to it next, shaped alike."""
    normed: torch.Tensor
    """Activations: q8 groups of one sequence, fp32 of several."""
    query_key_value: torch.Tensor
    """fp32, flat: all sequences' queries and keys, then their values, or those of each sequence together."""
    heads: torch.Tensor
    """fp16 [sequences, query, key and value heads, head size]."""
    attended: torch.Tensor
    """fp16 [sequences, query heads, head size]."""
    gate_up: torch.Tensor
    """fp32 [sequences, 2 * intermediate]."""
    gated: torch.Tensor
    """Activations of the down projection, as `normed`."""
    logits: torch.Tensor
    """fp32 [sequences, vocabulary]."""


def allocate_buffers(geometry: Geometry, sequences: int, context: int, device: str) -> Buffers:
    """Allocate what a step writes.

    Args:
        geometry: The model.
        sequences: Sequences of a batch.
        context: Steps that are remembered.
        device: Where.
    """

    def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype, device=device)

    def activation(columns: int) -> torch.Tensor:
        # Only one token's activations are quantized: the product of several takes them as they are.
        return activations.empty(1, columns, device) if sequences == 1 else zeros(sequences, columns)

    return Buffers(
        tokens=zeros(sequences, dtype=torch.int64),
        places=Places(
            positions=zeros(sequences, dtype=torch.int64),
            slots=zeros(sequences, dtype=torch.int64),
            seq_lens=zeros(sequences, dtype=torch.int32),
            query_starts=torch.arange(sequences + 1, dtype=torch.int32, device=device),
        ),
        steps=zeros(1, dtype=torch.int64),
        history=zeros(context, sequences, dtype=torch.int64),
        residual=zeros(sequences, geometry.hidden),
        delta=zeros(sequences, geometry.hidden),
        normed=activation(geometry.hidden),
        query_key_value=zeros(sequences * geometry.heads * geometry.head_size),
        heads=zeros(sequences, geometry.heads, geometry.head_size, dtype=torch.float16),
        attended=zeros(sequences, geometry.query_heads, geometry.head_size, dtype=torch.float16),
        gate_up=zeros(sequences, 2 * geometry.intermediate),
        gated=activation(geometry.intermediate),
        logits=zeros(sequences, geometry.vocabulary),
    )


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a batch that never changes its size.

    A lone sequence's products take the matrix-vector arms; those of several take what the gate falls back to.
    """

    model: Model
    attention: Attention
    cache: KvCache
    buffers: Buffers
    context: int
    """Tokens that a sequence holds at most, which the launches of attention are sized for."""

    def run(self) -> None:
        """Launch everything from the embedding of the current tokens to the choice of the next."""
        model, buffers, places = self.model, self.buffers, self.buffers.places
        epsilon = model.geometry.norm_epsilon
        launch.run_place_tokens(
            places.positions, self.cache.block_table, places.slots, places.seq_lens, BLOCK_SIZE
        )
        buffers.residual.copy_(model.embedding.index_select(0, buffers.tokens))
        delta = None
        for number, layer in enumerate(model.layers):
            launch.run_add_norm(buffers.residual, delta, layer.attention_norm, buffers.normed, epsilon)
            self._attend(number, layer)
            launch.run_add_norm(buffers.residual, buffers.delta, layer.ffn_norm, buffers.normed, epsilon)
            _multiply(layer.gate_up, buffers.normed, buffers.gate_up)
            launch.run_silu_product(buffers.gate_up, buffers.gated)
            _multiply(layer.down, buffers.gated, buffers.delta)
            delta = buffers.delta
        launch.run_add_norm(buffers.residual, delta, model.norm, buffers.normed, epsilon)
        _multiply(model.output, buffers.normed, buffers.logits)
        torch.argmax(buffers.logits, dim=-1, out=buffers.tokens)
        buffers.history.index_copy_(0, buffers.steps, buffers.tokens.unsqueeze(0))
        buffers.steps.add_(1)
        places.positions.add_(1)

    def _attend(self, number: int, layer: Layer) -> None:
        buffers, geometry = self.buffers, self.model.geometry
        sequences, turned = len(buffers.tokens), geometry.query_columns + geometry.kv_columns
        if layer.value is None:
            joined = buffers.query_key_value.view(sequences, -1)
            _multiply(layer.query_key, buffers.normed, joined)
            query_key, value = joined[:, :turned], joined[:, turned:]
        else:
            split = sequences * turned
            query_key = buffers.query_key_value[:split].view(sequences, -1)
            value = buffers.query_key_value[split:].view(sequences, -1)
            _multiply(layer.query_key, buffers.normed, query_key)
            _multiply(layer.value, buffers.normed, value)
        launch.run_rotate_heads(
            query_key,
            value,
            layer.bias,
            buffers.places.positions,
            self.model.cosines,
            self.model.sines,
            buffers.heads,
            geometry.interleaved,
        )
        attend(
            self.attention, self.cache, number, buffers.heads, buffers.places, buffers.attended, self.context
        )
        layer.attention_output.multiply(buffers.attended.flatten(1), buffers.delta)


def _multiply(matrix: QuantizedMatrix, activation: torch.Tensor, out: torch.Tensor) -> None:
    if activation.dtype == torch.uint8:
        matrix.multiply_quantized(activation, out)
    else:
        matrix.multiply(activation, out)
