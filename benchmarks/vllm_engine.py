"""One boot of a vLLM engine: what it is asked, and what is measured in it. Started by ``vllm_arms.py``."""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy
import torch

CONTEXTS = (20_000, 60_000)
"""Prompt tokens that come out of the prefix cache; whole blocks."""
TAILS = (8, 16)
"""Prompt tokens behind them: one step of that many query tokens, the same in every arm."""
_NEW_TOKENS = 96
_PROFILED_STEPS = 8
_VERIFIED = 12
_ATTENTION = re.compile(
    r"attend|reduce_segments|rotate_rows|_attn_packed|hadamard|hadacore|kernel_unified_attention"
)
_WRITE = re.compile(r"write_cache|_reshape_cache_int4")
_PROPOSER = re.compile(r"ngram", re.IGNORECASE)


def prompt(context: int, tail: int) -> list[int]:
    """Draw a prompt; those of one context share their first tokens."""
    generator = torch.Generator().manual_seed(context)
    shared = torch.randint(3, 32_000, [context], generator=generator)
    last = torch.randint(3, 32_000, [tail], generator=generator.manual_seed(context + tail))
    return [*shared.tolist(), *last.tolist()]


def rotate_in_float32() -> None:
    """Keep vLLM from rotating float32 rows in bfloat16, which its CUDA kernel does."""
    from vllm.v1.attention.ops import int4_per_token_head

    assert hasattr(int4_per_token_head, "_HADACORE_AVAILABLE"), "this vLLM chooses its rotation differently"
    int4_per_token_head._HADACORE_AVAILABLE = False


class Engine:
    """A vLLM engine in this process, stepped by hand.

    Args:
        model: Its folder.
        depth: Tokens to draft; none where 0.
        reference: Whether it computes in float32, and eagerly.
    """

    def __init__(self, model: str, depth: int, reference: bool) -> None:
        from vllm import LLM

        if reference:
            rotate_in_float32()

        speculation = {
            "method": "ngram",
            "num_speculative_tokens": depth,
            "prompt_lookup_max": 3,
            "prompt_lookup_min": 1,
        }
        self.llm = LLM(
            model=model,
            skip_tokenizer_init=True,
            dtype="float32" if reference else "float16",
            enforce_eager=reference,
            kv_cache_dtype="int4_per_token_head",
            max_model_len=65_536,
            max_num_seqs=4,
            gpu_memory_utilization=0.2,
            enable_prefix_caching=True,
            max_logprobs=-1,
            logprobs_mode="raw_logits",
            speculative_config=speculation if depth else None,
        )
        self.engine = self.llm.llm_engine
        self._requests = 0

    def serve(self, tokens: list[int], new_tokens: int, profiler: Any = None, **options: Any) -> Any:
        """Serve one request alone.

        Returns:
            Its completion, and for each step its milliseconds and how many tokens it gave.
        """
        from vllm import SamplingParams

        self._requests += 1
        parameters = SamplingParams(
            temperature=0.0, max_tokens=new_tokens, ignore_eos=True, detokenize=False, **options
        )
        self.engine.add_request(str(self._requests), {"prompt_token_ids": tokens}, parameters)
        steps, known, completion = [], 0, None
        while self.engine.has_unfinished_requests():
            begun = time.perf_counter()
            outputs = self.engine.step()
            torch.cuda.synchronize()
            milliseconds = (time.perf_counter() - begun) * 1e3
            if outputs:
                completion = outputs[0].outputs[0]
            seen = len(completion.token_ids) if completion else 0
            steps.append((milliseconds, seen - known))
            known = seen
            if profiler is not None:
                profiler.step()
        return completion, steps

    def logits(self, tokens: list[int], new_tokens: int) -> tuple[numpy.ndarray, list[int]]:
        """Collect the raw logits of each new token: [new tokens, vocabulary]."""
        completion, _ = self.serve(tokens, new_tokens, logprobs=-1)
        rows = [[entries[token].logprob for token in range(len(entries))] for entries in completion.logprobs]
        return numpy.array(rows, dtype=numpy.float32), list(completion.token_ids)


def collect(engine: Engine, context: int, depth: int, arrays: dict[str, numpy.ndarray]) -> dict[str, Any]:
    """Collect the logits of one context, whose prefix is cached from the first request on."""
    found: dict[str, Any] = {}
    begun = time.perf_counter()
    arrays[f"{context}.whole"], _ = engine.logits(prompt(context, TAILS[0]), 1)
    found["prefill_seconds"] = time.perf_counter() - begun
    for tail in TAILS:
        arrays[f"{context}.tail{tail}"], _ = engine.logits(prompt(context, tail), 1)
    if depth:
        arrays[f"{context}.verify"], found["verify_tokens"] = engine.logits(prompt(context, 8), _VERIFIED)
    return found


def measure(engine: Engine, context: int, depth: int) -> dict[str, Any]:
    """Time the steps over a context whose prefix is cached."""
    found: dict[str, Any] = {}
    engine.serve(prompt(context, 8), 8)
    _, steps = engine.serve(prompt(context, 8), _NEW_TOKENS)
    decoding = steps[1:]
    found["steps"] = len(decoding)
    found["step_ms"] = sorted(milliseconds for milliseconds, _ in decoding)[len(decoding) // 2]
    found["mean_step_ms"] = sum(milliseconds for milliseconds, _ in decoding) / len(decoding)
    found["tokens_per_step"] = sum(tokens for _, tokens in decoding) / len(decoding)
    found["all_step_ms"] = [round(milliseconds, 3) for milliseconds, _ in decoding]
    found["profile"] = profile(engine, context, depth)
    return found


def profile(engine: Engine, context: int, depth: int) -> dict[str, Any]:
    """Add up the GPU's time by kernel, over steps behind the prefill."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    # Two steps to let the prefill and the first verify step pass.
    schedule = torch.profiler.schedule(wait=1, warmup=2, active=_PROFILED_STEPS, repeat=1)
    with torch.profiler.profile(activities=activities, schedule=schedule) as profiler:
        engine.serve(prompt(context, 8), (1 + depth) * (_PROFILED_STEPS + 4), profiler=profiler)
    kernels: dict[str, list[float]] = {}
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            total = kernels.setdefault(event.name, [0.0, 0])
            total[0] += event.device_time_total
            total[1] += 1
    rows = sorted(
        (
            [name, total / _PROFILED_STEPS, calls / _PROFILED_STEPS]
            for name, (total, calls) in kernels.items()
        ),
        key=lambda row: -row[1],
    )

    def share(pattern: re.Pattern[str]) -> float:
        return sum(row[1] for row in rows if pattern.search(row[0]))

    return {
        "gpu_us_per_step": sum(row[1] for row in rows),
        "attention_us_per_step": share(_ATTENTION),
        "cache_write_us_per_step": share(_WRITE),
        "proposer_us_per_step": share(_PROPOSER),
        "kernels": rows[:25],
    }


def memory(engine: Engine) -> dict[str, Any]:
    """Read the budget that the engine fixed, and who serves the layers."""
    config = engine.engine.vllm_config
    layers = config.compilation_config.static_forward_context.values()
    found = {
        "kv_blocks": config.cache_config.num_gpu_blocks,
        "kv_tokens": getattr(config.cache_config, "kv_cache_size_tokens", None),
        "implementations": sorted({type(layer.impl).__name__ for layer in layers if hasattr(layer, "impl")}),
        "cudagraph_mode": config.compilation_config.cudagraph_mode.name,
    }
    scratch = sys.modules.get("guardrail.kernels.int4_attention.scratch_tensors")
    if scratch is not None:
        found["scratch"] = [
            {"bytes": held.plan.bytes, "rows": held.plan.rows, "origin": held.origin.value}
            for held in scratch.POOL.resident()
        ]
    return found


def main() -> None:
    """Boot, measure, and write what was found: ``vllm_engine.py ARM MODEL DEPTH JSON``."""
    arm, model, depth, target = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    reference = arm == "float32"
    begun = time.perf_counter()
    engine = Engine(model, depth, reference)
    found: dict[str, Any] = {"boot_seconds": time.perf_counter() - begun, **memory(engine)}
    arrays: dict[str, numpy.ndarray] = {}
    found["contexts"] = {
        str(context): collect(engine, context, depth, arrays)
        | ({} if reference else measure(engine, context, depth))
        for context in CONTEXTS
    }
    numpy.savez(target.with_suffix(".npz"), **arrays)
    target.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
