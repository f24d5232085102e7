"""One engine's int4 attention: the planned pool, the dispatch rule, the breach record and the launcher."""

from dataclasses import dataclass, field

import torch

from guardrail.kernels.int4_attention import launch, plan, scratch_tensors, tuning
from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.dispatch import Call, Decision, decide
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

    @property
    def scratch(self) -> tuple[torch.Tensor, ...]:
        """List every tensor of the scratch, whole."""
        buffers = self.held.buffers
        return (buffers.partials, buffers.maxima, buffers.exp_sums)

    def segments(self, case: RandomBatch, longest: int) -> int:
        """Choose the segments of a batch."""
        rows = case.batch.queries.shape[0]
        wanted = plan.segments(self.layer, len(case.seq_lens), case.batch.max_query_len, rows, longest)
        return min(wanted, self.held.plan.most_segments(rows))

    def view(self, case: RandomBatch, segments: int) -> launch.Scratch:
        """Divide the scratch for a batch."""
        return self.held.buffers.view(
            self.heads.kv_heads,
            self.heads.group,
            tuning.padded(self.heads.head_size),
            case.batch.queries.shape[0],
            segments,
        )

    def attend(
        self, case: RandomBatch, multi_query: bool = True, batch_invariant: bool = False
    ) -> tuple[Decision, int | None]:
        """Decide and launch one call on poisoned memory.

        Returns:
            The decision, and the segments of the 3D arm.
        """
        rows, tokens = self.held.plan.rows, case.batch.queries.shape[0]
        segments = self.segments(case, max(case.seq_lens)) if tokens <= rows else 1
        call = Call(
            max_query_len=case.batch.max_query_len,
            sequences=len(case.seq_lens),
            tokens=tokens,
            seq_threshold=plan.effective_threshold(self.options),
            segments=segments,
            scratch_rows=(rows, rows, rows),
            declared_capacity=plan.capacity(self.options),
            multi_query=multi_query,
            batch_invariant=batch_invariant,
        )
        decision = decide(call)
        self.breaches.observe(call)
        for tensor in (*self.scratch, case.output):
            tensor.fill_(torch.nan)
        if decision.arm == "2d":
            launch.run_2d(case.batch, case.output)
            return decision, None
        launch.run_3d(case.batch, case.output, self.view(case, segments))
        return decision, segments
