"""vLLM's Triton attention layer, with guardrail's kernels for int4 caches."""

from typing import Any

import torch
from vllm import envs
from vllm.config import get_current_vllm_config
from vllm.v1.attention.backends.triton_attn import TritonAttentionImpl
from vllm.v1.kv_cache_interface import KVQuantMode

from guardrail.adapters.vllm import refusals
from guardrail.adapters.vllm.layer import Int4Layer
from guardrail.kernels.int4_attention.cache_layout import cache_views


class GuardrailImpl(TritonAttentionImpl):  # type: ignore[misc]
    """Serves int4 caches; does with every other cache what vLLM does."""

    _k_scale_cache: torch.Tensor | None
    _v_scale_cache: torch.Tensor | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.int4: Int4Layer | None = None
        if self._kv_quant_mode == KVQuantMode.INT4_PER_TOKEN_HEAD:
            self.int4 = Int4Layer(self, get_current_vllm_config(), bool(envs.VLLM_BATCH_INVARIANT))

    def forward(
        self,
        layer: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        kv_cache: torch.Tensor,
        attn_metadata: Any,
        output: torch.Tensor,
        output_scale: torch.Tensor | None = None,
        output_block_scale: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """See `TritonAttentionImpl.forward`; without metadata, in the memory profile, outputs are zero."""
        if self.int4 is not None and attn_metadata is not None:
            reasons = self.int4.reasons or refusals.of_call(
                attn_metadata, quantized=output_scale is not None or output_block_scale is not None
            )
            if not reasons:
                self.int4.attend(query, kv_cache, attn_metadata, output)
                return output
            self.int4.leave_to_stock(attn_metadata, reasons)
        super().forward(
            layer,
            query,
            key,
            value,
            kv_cache,
            attn_metadata,
            output,
            output_scale,
            output_block_scale,
        )
        return output

    def do_kv_cache_update(
        self,
        layer: Any,
        key: torch.Tensor,
        value: torch.Tensor,
        kv_cache: torch.Tensor,
        slot_mapping: torch.Tensor,
    ) -> None:
        """See `TritonAttentionImpl.do_kv_cache_update`."""
        if self.int4 is not None and self.int4.serves:
            self.int4.write(key, value, kv_cache, slot_mapping)
        else:
            super().do_kv_cache_update(layer, key, value, kv_cache, slot_mapping)

    def fused_output_quant_supported(self, quant_key: Any) -> bool:
        """Refuse quantized outputs where guardrail's kernels write them."""
        served = self.int4 is not None and self.int4.serves
        return not served and bool(super().fused_output_quant_supported(quant_key))

    def _ensure_scale_caches(self, kv_cache: torch.Tensor) -> None:
        if self.int4 is None or not self.int4.serves:
            super()._ensure_scale_caches(kv_cache)
        elif self._k_scale_cache is None:
            # vLLM also fills the scales with 1, once. Here the first call that is left to its kernels may
            # come after guardrail's have written.
            views = cache_views(kv_cache)
            self._k_scale_cache = views.key_scales.transpose(1, 2)
            self._v_scale_cache = views.value_scales.transpose(1, 2)
