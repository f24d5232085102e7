"""One decode step: every launch of it on buffers that stay where they are, so that it can be captured."""

from dataclasses import dataclass

import torch

from guardrail.kernels.int4_attention.attention import Attention
from guardrail.kernels.kquants import activations
from guardrail.kernels.kquants.geometry import GROUP_ELEMENTS
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.kquants.residual_stream import ResidualStream, UnnormalizedGroups
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
    unnormalized: UnnormalizedGroups | None
    """The same where a product leaves them; None of several sequences."""
    query_key_value: torch.Tensor
    """fp32, flat: all sequences' queries and keys, then their values, or those of each sequence together."""
    queries: torch.Tensor
    """Rotated as the cache's signs say, fp16 [sequences, query heads, head size]."""
    attended: torch.Tensor
    """fp16 [sequences, query heads, head size], where no groups of it are written."""
    attended_groups: torch.Tensor | None
    """Its q8 groups, uint8 [1, query heads * head size / 32, 40]; None of several sequences, and where a head
    is no whole number of groups."""
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
    whole_groups = geometry.head_size % GROUP_ELEMENTS == 0
    return Buffers(
        tokens=zeros(sequences, dtype=torch.int64),
        places=allocate_places(sequences, geometry.head_size, device),
        steps=zeros(sequences, dtype=torch.int64),
        history=zeros(context, sequences, dtype=torch.int64),
        residuals=(zeros(sequences, geometry.hidden), zeros(sequences, geometry.hidden)),
        delta=zeros(sequences, geometry.hidden),
        normed=activation(geometry.hidden),
        unnormalized=(
            UnnormalizedGroups.empty(geometry.hidden, geometry.norm_epsilon, device)
            if sequences == 1
            else None
        ),
        query_key_value=zeros(sequences * geometry.heads * geometry.head_size),
        queries=zeros(*queries, dtype=torch.float16),
        attended=zeros(*queries, dtype=torch.float16),
        attended_groups=activation(geometry.query_columns) if sequences == 1 and whole_groups else None,
        gate_up=zeros(sequences, 2 * geometry.intermediate),
        gated=activation(geometry.intermediate),
        logits=zeros(sequences, geometry.vocabulary),
        candidates=zeros(sequences, -(-geometry.vocabulary // tuning.SEARCHED_LOGITS), dtype=torch.int64),
    )


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where the residual stream is between two products, and what is normalized of it."""

    residual: torch.Tensor
    """fp32 [sequences, hidden]."""
    spare: torch.Tensor
    """Shaped alike: where its next sum is written, unless a product adds to it in place."""
    normed: torch.Tensor | UnnormalizedGroups
    """Activations of the next products."""


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
        residual, spare = buffers.residuals
        launch.run_embed_tokens(
            buffers.tokens,
            model.embedding,
            (model.cosines, model.sines),
            self.cache.block_table,
            BLOCK_SIZE,
            residual,
            places,
        )
        epsilon, first_norm = model.geometry.norm_epsilon, model.layers[0].attention_norm
        launch.run_add_norm(residual, None, first_norm, None, buffers.normed, epsilon)
        stream = StreamState(residual, spare, buffers.normed)
        norms = [layer.attention_norm for layer in model.layers[1:]] + [model.norm]
        readers = [layer.normed_readers() for layer in model.layers[1:]] + [(model.output,)]
        for number, layer in enumerate(model.layers):
            attended = self._attend(number, layer, stream.normed)
            stream = self._add(stream, layer.attention_output, attended, layer.ffn_norm, (layer.gate_up,))
            _multiply(layer.gate_up, stream.normed, buffers.gate_up)
            launch.run_silu_product(buffers.gate_up, buffers.gated)
            stream = self._add(stream, layer.down, buffers.gated, norms[number], readers[number])
        _multiply(model.output, stream.normed, buffers.logits)
        launch.run_choose_tokens(
            buffers.logits,
            buffers.candidates,
            buffers.tokens,
            buffers.history,
            buffers.steps,
            places.positions,
        )

    def _add(
        self,
        stream: StreamState,
        matrix: QuantizedMatrix,
        activation: torch.Tensor,
        norm_weight: torch.Tensor,
        readers: tuple[QuantizedMatrix, ...],
    ) -> StreamState:
        """Add a product to the residual stream, and normalize it for those that read it next.

        Where all of these products can, the norm takes no launch: the first one leaves the groups and sums of
        squares, the others complete it.
        """
        buffers, epsilon = self.buffers, self.model.geometry.norm_epsilon
        residual, spare, unnormalized = stream.residual, stream.spare, buffers.unnormalized
        in_place = activation.dtype == torch.uint8 and matrix.adds_in_place
        if unnormalized is not None and in_place and all(reader.completes_norms for reader in readers):
            added = ResidualStream(residual[0], norm_weight, unnormalized)
            matrix.multiply_quantized(activation, added)
            return StreamState(residual, spare, unnormalized)
        _multiply(matrix, activation, buffers.delta)
        launch.run_add_norm(residual, buffers.delta, norm_weight, spare, buffers.normed, epsilon)
        return StreamState(spare, residual, buffers.normed)

    def _attend(self, number: int, layer: Layer, normed: torch.Tensor | UnnormalizedGroups) -> torch.Tensor:
        buffers, geometry = self.buffers, self.model.geometry
        sequences, turned = len(buffers.tokens), geometry.query_columns + geometry.kv_columns
        if layer.value is None:
            joined = buffers.query_key_value.view(sequences, -1)
            _multiply(layer.query_key, normed, joined)
            query_key, value = joined[:, :turned], joined[:, turned:]
        else:
            split = sequences * turned
            query_key = buffers.query_key_value[:split].view(sequences, -1)
            value = buffers.query_key_value[split:].view(sequences, -1)
            _multiply(layer.query_key, normed, query_key)
            _multiply(layer.value, normed, value)
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
        quantized = attend(
            self.attention,
            self.cache,
            number,
            buffers.queries,
            buffers.places,
            buffers.attended,
            buffers.attended_groups if layer.attention_output.quantizes else None,
            self.context,
        )
        return buffers.attended.flatten(1) if quantized is None else quantized


def _multiply(
    matrix: QuantizedMatrix, activation: torch.Tensor | UnnormalizedGroups, out: torch.Tensor
) -> None:
    if isinstance(activation, UnnormalizedGroups) or activation.dtype == torch.uint8:
        matrix.multiply_quantized(activation, out)
    else:
        matrix.multiply(activation, out)
