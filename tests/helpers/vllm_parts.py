"""What the plug-in is constructed from inside a real vLLM package, and one batch's metadata."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from vllm.config import CUDAGraphMode
from vllm.v1.attention.backend import CommonAttentionMetadata
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVQuantMode

from guardrail.adapters.vllm import impl

KV_HEADS, HEADS, HEAD_SIZE, BLOCK = 2, 6, 64, 16
BLOCKS = 5


def config(name: str, **changes: Any) -> Any:
    """Stand in for a VllmConfig of a model with 4 KV heads of 256 on one rank, or of the small one."""
    options: dict[str, Any] = {
        "kv_heads": KV_HEADS, "heads": HEADS, "head_size": HEAD_SIZE, "depth": 7, "sequences": 4,
        "mode": CUDAGraphMode.NONE, "sizes": (), "v2": True, **changes,
    }  # fmt: skip
    model = SimpleNamespace(
        dtype=torch.float16,
        is_mm_prefix_lm=False,
        rswa_window=None,
        max_model_len=4096,
        get_num_kv_heads=lambda _: options["kv_heads"],
        get_num_attention_heads=lambda _: options["heads"],
        get_head_size=lambda: options["head_size"],
    )
    parallel = SimpleNamespace(use_ubatching=False, data_parallel_rank=0, world_size=1, rank=0)
    return SimpleNamespace(
        instance_id=name,
        model_config=model,
        parallel_config=parallel,
        speculative_config=SimpleNamespace(
            num_speculative_tokens=options["depth"],
            parallel_drafting=False,
            target_model_config=model,
            target_parallel_config=parallel,
        ),
        scheduler_config=SimpleNamespace(max_num_seqs=options["sequences"], max_num_batched_tokens=2048),
        compilation_config=SimpleNamespace(
            cudagraph_mode=options["mode"],
            cudagraph_capture_sizes=list(options["sizes"]),
            max_cudagraph_capture_size=max(options["sizes"], default=0),
            static_forward_context={},
        ),
        use_v2_model_runner=options["v2"],
    )


def layer(backend: Any, made_under: Any, dtype: str = "int4_per_token_head", **changes: Any) -> Any:
    """Construct a layer's Impl under a configuration, and enter it there as vLLM does."""
    model = made_under.model_config
    options = {
        "num_heads": model.get_num_attention_heads(None),
        "head_size": model.get_head_size(),
        "scale": model.get_head_size() ** -0.5,
        "num_kv_heads": model.get_num_kv_heads(None),
        "alibi_slopes": None,
        "sliding_window": None,
        "kv_cache_dtype": dtype,
        **changes,
    }
    with mock.patch.object(impl, "get_current_vllm_config", return_value=made_under):
        made = backend.get_impl_cls()(**options)
    known = made_under.compilation_config.static_forward_context
    known[f"layer.{len(known)}"] = SimpleNamespace(impl=made)
    return made


def builder(backend: Any, made_under: Any, quant: KVQuantMode = KVQuantMode.INT4_PER_TOKEN_HEAD) -> Any:
    """Construct the metadata builder of all layers."""
    model = made_under.model_config
    spec = FullAttentionSpec(
        block_size=BLOCK,
        num_kv_heads=model.get_num_kv_heads(None),
        head_size=model.get_head_size(),
        dtype=torch.uint8,
        kv_quant_mode=quant,
    )
    names = list(made_under.compilation_config.static_forward_context)
    return backend.get_builder_cls()(spec, names, made_under, torch.device("cpu"))


def metadata(build: Any, queries: list[int], lengths: list[int], tokens: int) -> Any:
    """Build the metadata of a batch, whose unused block table entries are -1."""
    starts = torch.tensor([0, *queries]).cumsum(0).to(torch.int32)
    tables = torch.full([len(queries), BLOCKS], -1, dtype=torch.int32)
    for row, length in enumerate(lengths):
        used = -(-length // BLOCK)
        tables[row, :used] = torch.tensor([(2 * row + 3 * index + 1) % BLOCKS for index in range(used)])
    return build.build(
        0,
        CommonAttentionMetadata(
            query_start_loc=starts,
            query_start_loc_cpu=starts,
            seq_lens=torch.tensor(lengths, dtype=torch.int32),
            num_reqs=len(queries),
            num_actual_tokens=tokens,
            max_query_len=max(queries),
            max_seq_len=max(lengths),
            block_table_tensor=tables,
            slot_mapping=torch.full([tokens], -1),
            causal=True,
        ),
    )
