"""What guardrail's kernels leave to vLLM's, with the reason that the census states."""

from typing import Any

import torch

from guardrail.adapters.vllm import compat
from guardrail.kernels.int4_attention import gate, tuning

ALIBI = "stock_alibi"
ATTENTION_TYPE = "stock_attention_type"
BATCH_INVARIANT = "stock_batch_invariant"
CHUNKED = "stock_chunked_attention"
FLOAT32 = "stock_float32"
GEOMETRY = "stock_head_geometry"
MM_PREFIX = "stock_mm_prefix"
NON_CAUSAL = "stock_non_causal"
QUANTIZED_OUTPUT = "stock_quantized_output"
REFERENCE_WINDOW = "stock_reference_window"
UBATCHES = "stock_ubatches"
WIDER_DRAFTER = "stock_head_wider_than_target"


def of_layer(impl: Any, config: Any, batch_invariant: bool) -> tuple[str, ...]:
    """Name what keeps a layer from guardrail's kernels, for as long as it lives.

    Args:
        impl: TritonAttentionImpl, initialized.
        config: VllmConfig.
        batch_invariant: Whether results must not depend on the batch: the kernels' launch shape does.
    """
    model, parallel = compat.target_of(config)
    width = tuning.padded(impl.head_size)
    checks = {
        ALIBI: impl.alibi_slopes is not None or impl.use_alibi_sqrt,
        ATTENTION_TYPE: impl.attn_type != "decoder",
        BATCH_INVARIANT: batch_invariant,
        CHUNKED: impl.chunk_lookback > -1,
        FLOAT32: config.model_config.dtype == torch.float32,
        GEOMETRY: not gate.accepts(impl.num_heads, impl.num_kv_heads, impl.head_size),
        MM_PREFIX: config.model_config.is_mm_prefix_lm,
        REFERENCE_WINDOW: config.model_config.rswa_window is not None,
        # Two microbatches overlap on the device, and the layers have one scratch.
        UBATCHES: parallel.use_ubatching,
        WIDER_DRAFTER: width > tuning.padded(model.get_head_size()),
    }
    return tuple(reason for reason, holds in checks.items() if holds)


def of_call(metadata: Any, quantized: bool) -> tuple[str, ...]:
    """Name what keeps one call from guardrail's kernels.

    Args:
        metadata: TritonAttentionMetadata.
        quantized: Whether the output is to be quantized.
    """
    checks = {
        MM_PREFIX: metadata.mm_prefix_range is not None,
        NON_CAUSAL: metadata.causal is not True,
        QUANTIZED_OUTPUT: quantized,
    }
    return tuple(reason for reason, holds in checks.items() if holds)
