"""From an engine's configuration to the scratch that its int4 layers need."""

from typing import Any

import torch

from guardrail.adapters.vllm import compat
from guardrail.kernels.int4_attention import plan
from guardrail.kernels.int4_attention.scratch_plan import ScratchPlan, guardrail_layout, layer_of


def engine_of(config: Any) -> plan.Engine:
    """Read what the scratch depends on.

    Args:
        config: VllmConfig, the served model's or its draft model's.
    """
    model, parallel = compat.target_of(config)
    return plan.Engine(
        max_num_batched_tokens=config.scheduler_config.max_num_batched_tokens,
        max_num_seqs=config.scheduler_config.max_num_seqs,
        seq_threshold=plan.seq_threshold(model.get_num_kv_heads(parallel)),
        capture_sizes=compat.captured_sizes(config),
    )


def plan_of(config: Any, query_heads: int, device: torch.device) -> ScratchPlan:
    """Plan the scratch of layers that have the same number of query heads.

    Args:
        config: VllmConfig, the served model's or its draft model's: both give the same plan, because a draft
            model's builder is given the served model's alone.
        query_heads: Query heads of a layer on this rank.
        device: Where.
    """
    model, parallel = compat.target_of(config)
    kv_heads, head_size = model.get_num_kv_heads(parallel), model.get_head_size()
    return guardrail_layout(
        engine_of(config), layer_of(query_heads, kv_heads, head_size, *compat.facts_of(device))
    )
