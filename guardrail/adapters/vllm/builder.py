"""vLLM's Triton metadata builder, which takes no scratch where guardrail's layers have theirs."""

from typing import Any

import torch
from vllm.v1.attention.backends.triton_attn import TritonAttentionMetadataBuilder
from vllm.v1.kv_cache_interface import KVQuantMode

from guardrail.adapters.vllm import compat, planning
from guardrail.adapters.vllm.impl import GuardrailImpl
from guardrail.adapters.vllm.layer import Int4Layer
from guardrail.kernels.int4_attention.scratch_tensors import POOL


class GuardrailBuilder(TritonAttentionMetadataBuilder):  # type: ignore[misc]
    """Adopts the scratch of the layers that it builds for, or allocates what they lack and warns."""

    def __init__(
        self,
        kv_cache_spec: Any,
        layer_names: list[str],
        vllm_config: Any,
        device: torch.device,
        **kwargs: Any,
    ) -> None:
        layers = _int4_layers(kv_cache_spec, layer_names, vllm_config)
        served = [layer for layer in layers if layer.serves]
        without_stock = bool(served) and len(served) == len(layer_names)
        # A tensor on the meta device has a shape and no memory.
        scratch_device = torch.device("meta") if without_stock else device
        super().__init__(kv_cache_spec, layer_names, vllm_config, scratch_device, **kwargs)
        self.device = device
        if without_stock:
            # A call that is left to vLLM all the same takes its 2D kernel, which needs no scratch.
            self.softmax_segm_output = self.softmax_segm_max = self.softmax_segm_expsum = None
            self.max_seqs_64_segments = 0
        place = compat.device_of(device)
        for query_heads in dict.fromkeys(layer.query_heads for layer in served):
            planned = planning.plan_of(vllm_config, query_heads, place)
            held = POOL.adopt(planned, str(place), self)
            for layer in served:
                if layer.query_heads == query_heads:
                    layer.use(held)


def _int4_layers(kv_cache_spec: Any, layer_names: list[str], vllm_config: Any) -> list[Int4Layer]:
    if kv_cache_spec.kv_quant_mode != KVQuantMode.INT4_PER_TOKEN_HEAD:
        return []
    known = vllm_config.compilation_config.static_forward_context
    impls = [known[name].impl for name in layer_names]
    return [impl.int4 for impl in impls if isinstance(impl, GuardrailImpl) and impl.int4 is not None]
