"""One layer's attention in an engine: from a call to the arm that policy admits and its scratch."""

from dataclasses import dataclass

import torch

from guardrail.kernels.int4_attention import launch, plan, tuning
from guardrail.kernels.int4_attention.census import Census
from guardrail.kernels.int4_attention.dispatch import Call, Decision, decide
from guardrail.kernels.int4_attention.scratch import ScratchSet
from guardrail.kernels.int4_attention.scratch_tensors import ScratchTensors


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call did."""

    decision: Decision
    segments: int | None
    """Segments that sequences were divided into; None in the 2D arm."""


@dataclass(frozen=True, slots=True)
class Attention:
    """The attention of one layer, on the scratch that its engine acquired."""

    options: plan.Engine
    layer: plan.Layer
    scratch: ScratchSet[ScratchTensors]
    census: Census
    """Where every call is counted, breaches of the scratch's capacity included."""
    multi_query: bool = True
    """Whether sequences of several query tokens may take the 3D arm."""
    batch_invariant: bool = False

    def run(self, batch: launch.Batch, output: torch.Tensor, longest_context: int) -> Outcome:
        """Decide, launch and count one call.

        Args:
            batch: The call; under graph capture its tokens are the padded ones.
            output: [tokens, query heads, head size].
            longest_context: Keys of the longest sequence; under graph capture the most of any replay.
        """
        rows, tokens = self.scratch.plan.rows, batch.queries.shape[0]
        segments = self.segments(batch, longest_context) if tokens <= rows else 1
        call = Call(
            max_query_len=batch.max_query_len,
            sequences=batch.seq_lens.shape[0],
            tokens=tokens,
            seq_threshold=plan.effective_threshold(self.options),
            segments=segments,
            scratch_rows=(rows, rows, rows),
            declared_capacity=plan.capacity(self.options),
            query_len_cap=self.options.max_query_len,
            multi_query=self.multi_query,
            batch_invariant=self.batch_invariant,
        )
        decision = decide(call)
        if decision.arm == "2d":
            launch.run_2d(batch, output)
            outcome = Outcome(decision, None)
        else:
            launch.run_3d(batch, output, self.view(tokens, segments))
            outcome = Outcome(decision, segments)
        self.census.observe(call, decision, decision.arm, outcome.segments)
        return outcome

    def segments(self, batch: launch.Batch, longest_context: int) -> int:
        """Choose segments that fill the card and fit the scratch."""
        rows, sequences = batch.queries.shape[0], batch.seq_lens.shape[0]
        wanted = plan.segments(self.layer, sequences, batch.max_query_len, rows, longest_context)
        return min(wanted, self.scratch.plan.most_segments(rows))

    def view(self, tokens: int, segments: int) -> launch.Scratch:
        """Divide the scratch for a batch."""
        layer = self.layer
        group = layer.query_heads // layer.kv_heads
        return self.scratch.buffers.view(
            layer.kv_heads, group, tuning.padded(layer.head_size), tokens, segments
        )
