"""Constructs and calls the plug-in inside a real vLLM package, and writes what it saw as JSON.

Run as a process of its own, with the package on the import path: two releases do not fit into one.
"""

import gc
import inspect
import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
import vllm
from vllm.config import CompilationConfig, CUDAGraphMode
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
from vllm.v1.kv_cache_interface import KVQuantMode

from guardrail.adapters.vllm import compat, served
from guardrail.adapters.vllm.backend import GuardrailBackend
from guardrail.families import CensusRecord
from guardrail.kernels.int4_attention.cache_layout import make_cache
from guardrail.kernels.int4_attention.scratch_tensors import POOL
from helpers.vllm_parts import BLOCK, BLOCKS, HEAD_SIZE, HEADS, KV_HEADS, builder, config, layer, metadata

H200 = (132, (9, 0))


class Messages(logging.Handler):
    """Keeps what guardrail logs."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep warnings only."""
        if record.levelno >= logging.WARNING:
            self.warnings.append(record.getMessage())


def _census() -> CensusRecord:
    assert served._served is not None
    record: CensusRecord = served._served.census.record()
    return record


def written(backend: Any) -> torch.Tensor:
    """Write the same rows with a backend, in shuffled order, and two for no slot."""
    random = torch.Generator().manual_seed(3)
    slots = torch.randperm(BLOCKS * BLOCK, generator=random)
    slots[-2:] = -1
    keys, values = (torch.randn(len(slots), KV_HEADS, HEAD_SIZE, generator=random).half() for _ in range(2))
    cache: torch.Tensor = make_cache(BLOCKS, KV_HEADS, BLOCK, HEAD_SIZE)
    layer(backend, config("written")).do_kv_cache_update(None, keys, values, cache, slots)
    return cache


def numerics(
    caches: dict[Any, torch.Tensor], queries: list[int], lengths: list[int], padding: int = 0, **changes: Any
) -> Any:
    """Serve one batch with both backends, each on the cache that it wrote, and compare the outputs."""
    total = sum(queries) + padding
    query = torch.randn(total, HEADS, HEAD_SIZE, generator=torch.Generator().manual_seed(4)).half()
    outputs = []
    for backend, cache in caches.items():
        made_under = config(f"numerics of {queries} {changes}")
        made = layer(backend, made_under, **changes)
        kept = cache.clone()
        made._ensure_scale_caches(cache)
        # vLLM's layer has just filled the scales with 1.
        cache.copy_(kept)
        output = torch.full_like(query, 9.0)
        made.forward(
            None,
            query,
            None,
            None,
            cache,
            metadata(builder(backend, made_under), queries, lengths, total),
            output,
        )
        outputs.append(output[: sum(queries)].float())
    stock, ours = outputs
    return {
        "relative_error": float((ours - stock).norm() / stock.norm()),
        "arms": [[row.arm, row.query_len, row.calls] for row in _census().taken],
    }


def round_sizes(made_under: Any) -> None:
    """Round the capture sizes to whole verify steps, with vLLM's own code, which runs after model load."""
    rounds = CompilationConfig.adjust_cudagraph_sizes_for_spec_decode
    tensor_parallel = (1,) if len(inspect.signature(rounds).parameters) > 2 else ()
    made_under.compilation_config.pass_config = SimpleNamespace(enable_sp=False)
    rounds(
        made_under.compilation_config,
        1 + made_under.speculative_config.num_speculative_tokens,
        *tensor_parallel,
    )


def _forget() -> None:
    """Let go of the engines before, whose layers and configurations hold each other."""
    gc.collect()
    warnings.warnings.clear()


def start(name: str, twice: bool = True, **changes: Any) -> Any:
    """Start an engine of two layers, and say what it left allocated."""
    _forget()
    made_under = config(name, heads=24, kv_heads=4, head_size=256, **changes)
    layers = [layer(GuardrailBackend, made_under) for _ in range(2)]
    if not made_under.use_v2_model_runner:
        round_sizes(made_under)
    if twice:
        builder(GuardrailBackend, made_under)
    kept = builder(GuardrailBackend, made_under)
    return {
        "sets": [[held.plan.bytes, held.plan.rows, held.origin.value] for held in POOL.resident()],
        "adopters": [held.adopters for held in POOL.resident()],
        "buffer_bytes": sum(
            4 * tensor.numel()
            for held in POOL.resident()
            for tensor in (held.buffers.partials, held.buffers.maxima, held.buffers.exp_sums)
        ),
        "stock_scratch": [kept.softmax_segm_output, kept.softmax_segm_max, kept.softmax_segm_expsum],
        "device": str(kept.device),
        "warnings": list(warnings.warnings),
        "serves": [made.int4.serves for made in layers],
    }


def drafter() -> Any:
    """Load a target and a draft model of fewer heads, whose builders know the target's geometry only."""
    _forget()
    target = config("drafted", heads=24, kv_heads=4, head_size=256)
    layer(GuardrailBackend, target)
    draft = config("drafted", heads=32, kv_heads=8, head_size=128)
    draft.speculative_config = target.speculative_config
    layer(GuardrailBackend, draft)
    at_load = len(POOL.resident())
    builder(GuardrailBackend, target)
    target.compilation_config.static_forward_context = draft.compilation_config.static_forward_context
    builder(GuardrailBackend, target)
    return {"sets": [at_load, len(POOL.resident())], "warnings": list(warnings.warnings)}


def later_size() -> Any:
    """Start an engine whose builder learns of more sequences than the layers did."""
    _forget()
    made_under = config("grown", heads=24, kv_heads=4, head_size=256, sequences=2)
    made = layer(GuardrailBackend, made_under)
    before = made.int4._attention.scratch.plan.rows
    made_under.scheduler_config.max_num_seqs = 8
    kept = builder(GuardrailBackend, made_under)
    after = made.int4._attention.scratch.plan
    return {"rows": [before, after.rows], "bytes": after.bytes, "warnings": list(warnings.warnings),
            "kept": type(kept).__name__}  # fmt: skip


def untouched() -> Any:
    """Serve what is not int4, and what guardrail leaves to vLLM."""
    made_under = config("untouched")
    made = layer(GuardrailBackend, made_under, dtype="auto")
    kept = builder(GuardrailBackend, made_under, KVQuantMode.NONE)
    other = {"int4": made.int4 is None, "scratch": str(kept.softmax_segm_output.device)}

    made_under = config("refused")
    slopes = [0.5] * HEADS
    made = layer(GuardrailBackend, made_under, alibi_slopes=slopes)
    kept = builder(GuardrailBackend, made_under)
    cache = make_cache(BLOCKS, KV_HEADS, BLOCK, HEAD_SIZE)
    query = torch.ones(2, HEADS, HEAD_SIZE).half()
    output = torch.full_like(query, 9.0)
    found = metadata(kept, [1, 1], [20, 3], 2)
    made.do_kv_cache_update(None, query[:, :KV_HEADS], query[:, :KV_HEADS], cache, torch.tensor([16, 32]))
    made.forward(None, query, None, None, cache, found, output)
    record = _census()
    return {
        "not_int4": other,
        "reasons": list(made.int4.reasons),
        "scratch": list(kept.softmax_segm_max.shape),
        "taken": [[row.arm, list(row.reasons), row.eligible, row.calls] for row in record.taken],
        "breaches": record.breaches,
        "left_nines": int((output == 9.0).sum()),
    }


def one_call_refused() -> Any:
    """Leave one call to vLLM after guardrail has written, and keep what was written."""
    made_under = config("one call")
    made = layer(GuardrailBackend, made_under)
    kept = builder(GuardrailBackend, made_under)
    cache = make_cache(BLOCKS, KV_HEADS, BLOCK, HEAD_SIZE)
    rows = torch.randn(16, KV_HEADS, HEAD_SIZE, generator=torch.Generator().manual_seed(1)).half()
    made.do_kv_cache_update(None, rows, rows, cache, torch.arange(16, 32))
    before = cache.clone()
    query = torch.randn(1, HEADS, HEAD_SIZE, generator=torch.Generator().manual_seed(2)).half()
    outputs = [torch.zeros_like(query) for _ in range(2)]
    found = metadata(kept, [1], [16], 1)
    made.forward(None, query, None, None, cache, found, outputs[0])
    found.mm_prefix_range = {}
    made.forward(None, query, None, None, cache, found, outputs[1])
    profiled = torch.full_like(query, 9.0)
    made.forward(None, query, None, None, cache, None, profiled)
    record = _census()
    return {
        "changed_bytes": int((before != cache).sum()),
        "relative_error": float((outputs[0] - outputs[1]).float().norm() / outputs[1].float().norm()),
        "taken": [[row.arm, list(row.reasons)] for row in record.taken],
        "profiled_sum": float(profiled.abs().sum()),
    }


warnings = Messages()


def main() -> None:
    """Run every scenario."""
    mock.patch.object(compat, "facts_of", return_value=H200).start()
    logging.getLogger("guardrail").addHandler(warnings)
    caches = {backend: written(backend) for backend in (TritonAttentionBackend, GuardrailBackend)}
    # Two rows have no slot: there vLLM's writer leaves scales of 1, of which two bytes are not 0.
    scales_of_one = 2 * KV_HEADS * 2 * 2
    full = {"mode": CUDAGraphMode.FULL_AND_PIECEWISE, "sizes": (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64)}
    seen = {
        "version": vllm.__version__,
        "eager": start("eager"),
        "once": start("once", twice=False),
        "captured": start("captured", **full, depth=4, sequences=64, v2=False),
        "drafter": drafter(),
        "later_size": later_size(),
        "untouched": untouched(),
        "one_call_refused": one_call_refused(),
        "bytes": [int((caches[TritonAttentionBackend] != caches[GuardrailBackend]).sum()), scales_of_one],
        "verify": numerics(caches, [8, 5], [61, 20], padding=3),
        "deep": numerics(caches, [16], [40]),
        "decode": numerics(caches, [1, 1, 1], [61, 20, 1]),
        "prefill": numerics(caches, [20, 1], [20, 50]),
        "window": numerics(caches, [3], [50], sliding_window=24),
        "softcap": numerics(caches, [3], [50], logits_soft_cap=2.0),
        "sinks": numerics(caches, [3], [40], sinks=torch.linspace(-1, 2, HEADS)),
    }
    Path(sys.argv[1]).write_text(json.dumps(seen), encoding="utf-8")


if __name__ == "__main__":
    main()
