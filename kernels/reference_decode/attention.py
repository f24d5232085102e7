"""The engine's attention: one pool of scratch, one composed call a layer."""

import torch

from guardrail.kernels.int4_attention import launch, plan, scratch_tensors, tuning
from guardrail.kernels.int4_attention.attention import Attention
from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.census import Census
from guardrail.kernels.int4_attention.scratch import ScratchPool, ScratchSet
from guardrail.kernels.int4_attention.scratch_plan import guardrail_layout, layer_of
from guardrail.kernels.int4_attention.scratch_tensors import ScratchTensors
from guardrail.kernels.reference_decode.cache import KvCache
from guardrail.kernels.reference_decode.geometry import Geometry
from guardrail.kernels.reference_decode.places import Places

_INTERPRETED_PROCESSORS = 2


class AttentionPool:
    """The scratch that all layers share.

    Args:
        geometry: The model.
        sequences: Sequences of a batch.
        device: Where.
    """

    def __init__(self, geometry: Geometry, sequences: int, device: str) -> None:
        processors, capability = _device_facts(device)
        self.engine = plan.Engine(
            max_num_batched_tokens=sequences,
            max_num_seqs=sequences,
            seq_threshold=plan.seq_threshold(geometry.kv_heads),
        )
        self.layer = layer_of(
            geometry.query_heads, geometry.kv_heads, geometry.head_size, processors, capability
        )
        self.census = Census(BreachState())
        self._plan = guardrail_layout(self.engine, self.layer)
        self._device = device
        self._pool: ScratchPool[ScratchTensors] = ScratchPool(scratch_tensors.allocate)

    def load(self) -> ScratchSet[ScratchTensors]:
        """Give a layer its scratch while the model is loaded."""
        return self._pool.load(self._plan, self._device)

    def adopt(self) -> ScratchSet[ScratchTensors]:
        """Give the scratch to who builds the batches, after the budget was fixed."""
        return self._pool.adopt(self._plan, self._device, self)

    def resident_bytes(self) -> int:
        """Size all scratch that is allocated."""
        return sum(held.plan.bytes for held in self._pool.resident())

    def attention(self, scratch: ScratchSet[ScratchTensors]) -> Attention:
        """Compose what one call of any layer does."""
        return Attention(self.engine, self.layer, scratch, self.census)


def attend(
    attention: Attention,
    cache: KvCache,
    layer: int,
    queries: torch.Tensor,
    places: Places,
    output: torch.Tensor,
    quantized: torch.Tensor | None,
    longest_context: int,
) -> torch.Tensor | None:
    """Attend to all keys and values of a layer, the new ones included.

    Args:
        attention: The composed call.
        cache: Of all layers.
        layer: Which one.
        queries: Rotated as the cache's signs say, fp16 [sequences, query heads, head size].
        places: Where the tokens go.
        output: Shaped as the queries, written, unless its q8 groups are.
        quantized: Its q8 groups, uint8 [sequences, query heads * head size / 32, 40], which the split-KV arm
            writes instead; None for none.
        longest_context: Keys that a sequence may hold.

    Returns:
        The groups, where they were written.
    """
    views = cache.layers[layer]
    batch = launch.Batch(
        queries=queries,
        cache=views,
        block_table=cache.block_table,
        seq_lens=places.seq_lens,
        query_starts=places.query_starts,
        max_query_len=1,
        score_scale=views.head_size**-0.5,
        signs=cache.signs,
        queries_rotated=True,
        quantized=quantized,
        programmatic=True,
    )
    outcome = attention.run(batch, output, longest_context)
    return None if outcome.segments is None else quantized


def _device_facts(device: str) -> tuple[int, tuple[int, int]]:
    """Give multiprocessors and compute capability; the interpreter stands in for any small device."""
    if device == "cpu":
        return _INTERPRETED_PROCESSORS, tuning.HOPPER
    properties = torch.cuda.get_device_properties(device)
    return properties.multi_processor_count, (properties.major, properties.minor)
