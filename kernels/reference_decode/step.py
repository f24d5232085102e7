"""One decode step: every launch of it on buffers that stay where they are, so that it can be captured."""

from dataclasses import dataclass

import torch

from guardrail.kernels.int4_attention.attention import Attention
from guardrail.kernels.kquants import activations
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.reference_decode import launch, tuning
from guardrail.kernels.reference_decode.attention import attend
from guardrail.kernels.reference_decode.budget import BLOCK_SIZE
from guardrail.kernels.reference_decode.cache import KvCache
from guardrail.kernels.reference_decode.geometry import Geometry
from guardrail.kernels.reference_decode.model import Layer, Model
from guardrail.kernels.reference_decode.places import Places, allocate_places


@dataclass(frozen=True, slots=True)
class Buffers:
    """What a step writes."""

    tokens: torch.Tensor
    """Token that each sequence is at, int64 [sequences]; the next one after a step."""
    places: Places
    steps: torch.Tensor
    """Steps since the start, int64 [sequences]: each sequence counts its own."""
    history: torch.Tensor
    """Greedy token of every step, int64 [steps, sequences]."""
    residuals: tuple[torch.Tensor, torch.Tensor]
    """fp32 [sequences, hidden]: the residual stream, and where its next sum is written."""
    delta: torch.Tensor
    """What is added to it next, shaped alike."""
    normed: torch.Tensor
    """Activations: q8 groups of one sequence, fp32 of several."""
    query_key_value: torch.Tensor
    """fp32, flat: all sequences' queries and keys, then their values, or those of each sequence together."""
    queries: torch.Tensor
    """Rotated as the cache's signs say, fp16 [sequences, query heads, head size]."""
    attended: torch.Tensor
    """fp16 [sequences, query heads, head size]."""
    gate_up: torch.Tensor
    """fp32 [sequences, 2 * intermediate]."""
    gated: torch.Tensor
    """Activations of the down projection, as `normed`."""
    logits: torch.Tensor
    """fp32 [sequences, vocabulary]."""
    candidates: torch.Tensor
    """The best of each part of the vocabulary, int64 [sequences, parts]."""


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

    queries = (sequences, geometry.query_heads, geometry.head_size)
    return Buffers(
        tokens=zeros(sequences, dtype=torch.int64),
        places=allocate_places(sequences, geometry.head_size, device),
        steps=zeros(sequences, dtype=torch.int64),
        history=zeros(context, sequences, dtype=torch.int64),
        residuals=(zeros(sequences, geometry.hidden), zeros(sequences, geometry.hidden)),
        delta=zeros(sequences, geometry.hidden),
        normed=activation(geometry.hidden),
        query_key_value=zeros(sequences * geometry.heads * geometry.head_size),
        queries=zeros(*queries, dtype=torch.float16),
        attended=zeros(*queries, dtype=torch.float16),
        gate_up=zeros(sequences, 2 * geometry.intermediate),
        gated=activation(geometry.intermediate),
        logits=zeros(sequences, geometry.vocabulary),
        candidates=zeros(sequences, -(-geometry.vocabulary // tuning.SEARCHED_LOGITS), dtype=torch.int64),
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
        residual, summed = buffers.residuals
        launch.run_embed_tokens(
            buffers.tokens,
            model.embedding,
            (model.cosines, model.sines),
            self.cache.block_table,
            BLOCK_SIZE,
            residual,
            places,
        )
        launch.run_add_norm(residual, None, model.layers[0].attention_norm, None, buffers.normed, epsilon)
        next_norms = [layer.attention_norm for layer in model.layers[1:]] + [model.norm]
        for number, (layer, next_norm) in enumerate(zip(model.layers, next_norms, strict=True)):
            self._attend(number, layer)
            launch.run_add_norm(residual, buffers.delta, layer.ffn_norm, summed, buffers.normed, epsilon)
            _multiply(layer.gate_up, buffers.normed, buffers.gate_up)
            launch.run_silu_product(buffers.gate_up, buffers.gated)
            _multiply(layer.down, buffers.gated, buffers.delta)
            launch.run_add_norm(summed, buffers.delta, next_norm, residual, buffers.normed, epsilon)
        _multiply(model.output, buffers.normed, buffers.logits)
        launch.run_choose_tokens(
            buffers.logits,
            buffers.candidates,
            buffers.tokens,
            buffers.history,
            buffers.steps,
            places.positions,
        )

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
        launch.run_place_heads(
            query_key,
            value,
            layer.bias,
            buffers.places,
            self.cache.signs,
            buffers.queries,
            self.cache.layers[number],
            geometry.interleaved,
        )
        attend(
            self.attention,
            self.cache,
            number,
            buffers.queries,
            buffers.places,
            buffers.attended,
            self.context,
        )
        layer.attention_output.multiply(buffers.attended.flatten(1), buffers.delta)


def _multiply(matrix: QuantizedMatrix, activation: torch.Tensor, out: torch.Tensor) -> None:
    if activation.dtype == torch.uint8:
        matrix.multiply_quantized(activation, out)
    else:
        matrix.multiply(activation, out)
