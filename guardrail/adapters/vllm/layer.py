"""One int4 attention layer: guardrail's write and attention, in vLLM's terms."""

import functools
import logging
from dataclasses import replace
from typing import Any

import torch

from guardrail.adapters.vllm import compat, planning, refusals
from guardrail.adapters.vllm.served import served_by
from guardrail.families.census import STOCK
from guardrail.families.switches import read_switch
from guardrail.kernels.int4_attention import dispatch, knobs, launch, plan, rotation
from guardrail.kernels.int4_attention.attention import Attention
from guardrail.kernels.int4_attention.cache_layout import CacheViews, cache_views
from guardrail.kernels.int4_attention.scratch import ScratchSet
from guardrail.kernels.int4_attention.scratch_tensors import POOL, ScratchTensors

_LOG = logging.getLogger(__name__)


class Int4Layer:
    """Serves one layer, on the scratch that it acquires as the model is loaded.

    Args:
        impl: TritonAttentionImpl, initialized.
        config: VllmConfig that the layer is made under.
        batch_invariant: Whether results must not depend on the batch.
    """

    def __init__(self, impl: Any, config: Any, batch_invariant: bool) -> None:
        self._impl = impl
        self._compilation = config.compilation_config
        self._longest = compat.target_of(config)[0].max_model_len
        self._census = served_by(config).census
        self.reasons = refusals.of_layer(impl, config, batch_invariant)
        self._attention: Attention | None = None
        self._prefill_compiled = False
        if self.reasons:
            _LOG.warning("int4 attention: a layer is left to vLLM's kernels: %s", ", ".join(self.reasons))
            return
        device = compat.device_of(None)
        self._geometry = plan.Layer(
            impl.num_kv_heads, impl.num_heads, impl.head_size, *compat.facts_of(device)
        )
        self.use(POOL.load(planning.plan_of(config, impl.num_heads, device), str(device)))

    @property
    def serves(self) -> bool:
        """Tell whether guardrail's kernels serve the layer."""
        return self._attention is not None

    @property
    def query_heads(self) -> int:
        """Count the query heads on this rank."""
        return int(self._impl.num_heads)

    def use(self, scratch: ScratchSet[ScratchTensors]) -> None:
        """Run on this scratch from now on."""
        self._attention = Attention(
            options=scratch.plan.engine,
            layer=self._geometry,
            scratch=scratch,
            census=self._census,
            multi_query=read_switch(knobs.MULTI_QUERY, default=True),
        )

    def write(
        self, key: torch.Tensor, value: torch.Tensor, kv_cache: torch.Tensor, slots: torch.Tensor
    ) -> None:
        """Write keys and values to the cache.

        Args:
            key: [tokens, KV heads, head size].
            value: Shaped as the keys.
            kv_cache: uint8 [blocks, KV heads, block size, row bytes].
            slots: int64 [tokens]; -1 for padding.
        """
        tokens = slots.shape[0]
        launch.run_write(key[:tokens], value[:tokens], slots, cache_views(kv_cache), self._signs(kv_cache))

    def attend(
        self, query: torch.Tensor, kv_cache: torch.Tensor, metadata: Any, output: torch.Tensor
    ) -> None:
        """Compute the layer's attention, through the rule that picks an arm.

        Args:
            query: [tokens or more, query heads, head size].
            kv_cache: As for `write`.
            metadata: TritonAttentionMetadata.
            output: Shaped as the queries.
        """
        assert self._attention is not None
        tokens = metadata.num_actual_tokens
        if tokens == 0:
            return
        captured = query.is_cuda and torch.cuda.is_current_stream_capturing()
        batch = self._batch(query[:tokens], cache_views(kv_cache), metadata, captured)
        if query.is_cuda and not captured:
            self._compile_prefill(batch, output[:tokens])
        # What a graph is replayed with is not known as it is captured.
        longest = self._longest if captured else metadata.max_seq_len
        self._attention.run(batch, output[:tokens], longest)

    def leave_to_stock(self, metadata: Any, reasons: tuple[str, ...]) -> None:
        """Count a call that vLLM's kernels serve.

        Args:
            metadata: TritonAttentionMetadata.
            reasons: Why.
        """
        call = dispatch.Call(
            max_query_len=metadata.max_query_len,
            sequences=metadata.seq_lens.shape[0],
            tokens=metadata.num_actual_tokens,
            seq_threshold=None,
            segments=None,
            scratch_rows=None,
            # Policy does not admit it, so that what it needs of the scratch is no breach.
            multi_query=False,
        )
        self._census.observe(call, dispatch.Decision(STOCK, reasons), STOCK, None)

    def _compile_prefill(self, batch: launch.Batch, output: torch.Tensor) -> None:
        """Run the prefill arm once, at the engine's warm-up, on outputs that are written again.

        vLLM warms up with prompts that may be short enough for the 3D arm, and the first longer one would
        wait for the compiler.
        """
        if not self._prefill_compiled:
            launch.run_2d(batch, output, replace(batch, max_query_len=self._longest).shape())
            self._prefill_compiled = True

    def _batch(self, query: torch.Tensor, cache: CacheViews, metadata: Any, captured: bool) -> launch.Batch:
        impl = self._impl
        return launch.Batch(
            queries=query,
            cache=cache,
            block_table=metadata.block_table,
            seq_lens=metadata.seq_lens,
            query_starts=metadata.query_start_loc,
            max_query_len=query.shape[0] if captured and self._mixed() else metadata.max_query_len,
            score_scale=impl.scale,
            window=max(0, impl.sliding_window[0] + 1),
            softcap=float(impl.logits_soft_cap),
            sinks=impl.sinks,
            signs=self._signs(query),
        )

    def _mixed(self) -> bool:
        """Tell whether a captured batch may be replayed as one prefill.

        vLLM before 0.33 states the query lengths of the batch that it captures, not of those it replays.
        """
        return bool(self._compilation.cudagraph_mode.mixed_mode().has_full_cudagraphs())

    def _signs(self, like: torch.Tensor) -> torch.Tensor:
        return _signs(self._impl.head_size, like.device)


@functools.cache
def _signs(head_size: int, device: torch.device) -> torch.Tensor:
    # Drawn at the first call, not at model load: an engine that sleeps drops what was allocated there.
    signs: torch.Tensor = rotation.signs(head_size, device)
    return signs
