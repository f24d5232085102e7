"""One engine's int4 attention: the planned pool, the dispatch rule, the breach record and the launcher."""

from dataclasses import dataclass, field, replace

import torch

from guardrail.kernels.int4_attention import plan, scratch_tensors, tuning
from guardrail.kernels.int4_attention.attention import Attention
from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.census import Census
from guardrail.kernels.int4_attention.dispatch import Decision
from guardrail.kernels.int4_attention.scratch import ScratchPool, ScratchSet
from guardrail.kernels.int4_attention.scratch_plan import guardrail_layout, layer_of
from helpers.int4_batches import DEVICE, TARGET, Heads, RandomBatch


def device_facts() -> tuple[int, tuple[int, int]]:
    """Give multiprocessors and compute capability; those of an H200 where kernels are interpreted."""
    if DEVICE == "cpu":
        return 132, tuning.HOPPER
    properties = torch.cuda.get_device_properties(DEVICE)
    return properties.multi_processor_count, (properties.major, properties.minor)


@dataclass(eq=False)
class Engine:
    """An engine of two sequences, whose scratch holds 32 query tokens."""

    heads: Heads
    breaches: BreachState = field(default_factory=BreachState)

    def __post_init__(self) -> None:
        self.options = plan.Engine(8192, max_num_seqs=2, seq_threshold=plan.seq_threshold(TARGET.kv_heads))
        processors, capability = device_facts()
        query_heads = self.heads.kv_heads * self.heads.group
        self.layer = plan.Layer(
            self.heads.kv_heads, query_heads, self.heads.head_size, processors, capability
        )
        planned_as = layer_of(query_heads, TARGET.kv_heads, TARGET.head_size, processors, capability)
        planned = guardrail_layout(self.options, planned_as)
        pool = ScratchPool(scratch_tensors.allocate)
        loaded = pool.load(planned, DEVICE)
        self.held: ScratchSet[scratch_tensors.ScratchTensors] = pool.adopt(planned, DEVICE, self)
        assert self.held is loaded
        self.attention = Attention(self.options, self.layer, self.held, Census(self.breaches))

    @property
    def scratch(self) -> tuple[torch.Tensor, ...]:
        """List every tensor of the scratch, whole."""
        buffers = self.held.buffers
        return (buffers.partials, buffers.maxima, buffers.exp_sums)

    def attend(
        self, case: RandomBatch, multi_query: bool = True, batch_invariant: bool = False
    ) -> tuple[Decision, int | None]:
        """Decide and launch one call on poisoned memory.

        Returns:
            The decision, and the segments of the 3D arm.
        """
        for tensor in (*self.scratch, case.output):
            tensor.fill_(torch.nan)
        attention = replace(self.attention, multi_query=multi_query, batch_invariant=batch_invariant)
        outcome = attention.run(case.batch, case.output, max(case.seq_lens))
        return outcome.decision, outcome.segments
