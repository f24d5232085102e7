"""As much of vLLM as the offline engine's script uses, with times, logits and faults that a test sets."""

import json
import math
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

VOCABULARY = 32
BLOCK = 16
KV_TOKENS = 4096
COMPILING = "Compiling a graph for compile range (1, 512) takes 0.10 s"
LOADING = "Directly load the compiled graph(s) for compile range (1, 512) from the cache, took 0.01 s"


def setting(name: str, default: str = "0") -> float:
    return float(os.environ.get(f"FAKE_{name}", default))


class SamplingParams(SimpleNamespace):
    """Holds what it is given."""


class LLM:
    """Serves one request at a time: three tokens a step with speculation, else one."""

    def __init__(self, **arguments) -> None:
        if fault := os.environ.get("FAKE_FAULT"):
            raise ValueError(fault)
        self._arguments = arguments
        self._cached: list[list[int]] = []
        self._waiting: list[SimpleNamespace] = []
        self._served = 0
        warm = _is_warm()
        self._step = setting("STEP_SECONDS", "0.002") + (setting("WARM_SECONDS") if warm else 0.0)
        cache = SimpleNamespace(
            num_gpu_blocks=KV_TOKENS // BLOCK,
            block_size=BLOCK,
            kv_cache_size_tokens=int(setting("CONFIGURED_TOKENS", str(KV_TOKENS))),
        )
        self.vllm_config = SimpleNamespace(cache_config=cache)
        self.llm_engine = self
        sys.stdout.write(
            "INFO 01-01 00:00:00 [core.py:1] Initializing a V1 LLM engine (v0.27.1) with config: "
            f"model='{arguments['model']}', max_seq_len=512, kv_cache_dtype=auto, enforce_eager=True\n"
            "INFO 01-01 00:00:01 [worker.py:1] Model loading took 1.5 GiB memory and 1.0 seconds\n"
            f"INFO 01-01 00:00:01 [backends.py:1] {LOADING if warm else COMPILING}\n"
            "INFO 01-01 00:00:02 [worker.py:2] Available KV cache memory: 0.5 GiB\n"
            f"INFO 01-01 00:00:02 [kv.py:1] GPU KV cache size: {KV_TOKENS:,} tokens\n"
            "INFO 01-01 00:00:02 [kv.py:2] Maximum concurrency for 512 tokens per request: 8.00x\n"
            "INFO 01-01 00:00:03 [core.py:2] init engine (profile, create kv cache) took 1.2 s\n"
        )
        if setting("MONITOR"):
            sys.stdout.write("INFO 01-01 00:00:03 [jit.py:1] Kernel JIT monitor activated; mode=warn.\n")
        sys.stdout.flush()

    def add_request(self, name, prompt, parameters) -> None:
        tokens = _tokens(prompt)
        cached = max((_shared(tokens, known) for known in self._cached), default=0)
        self._cached.append(tokens)
        self._waiting.append(SimpleNamespace(tokens=tokens, cached=cached, parameters=parameters, given=[]))

    def has_unfinished_requests(self) -> bool:
        return bool(self._waiting)

    def step(self):
        request = self._waiting[0]
        if self._served == int(setting("COMPILES_IN", "-1")) and not request.given:
            sys.stdout.write("WARNING Triton kernel JIT compilation during inference: attend. This causes\n")
            sys.stdout.flush()
        time.sleep(self._step)
        each = 3 if request.given and self._arguments.get("speculative_config") else 1
        left = request.parameters.max_tokens - len(request.given)
        request.given += [len(request.given) % VOCABULARY] * min(each, left)
        if len(request.given) == request.parameters.max_tokens:
            self._waiting.pop()
            self._served += 1
        logprobs = None
        if getattr(request.parameters, "logprobs", None) == -1:
            logprobs = [dict(enumerate(map(_entry, self._logits(request))))]
        completion = SimpleNamespace(token_ids=request.given, logprobs=logprobs)
        return [SimpleNamespace(outputs=[completion], num_cached_tokens=request.cached)]

    def generate(self, texts, parameters, use_tqdm):
        return [self._generated(text, parameters) for text in texts]

    def _generated(self, text, parameters):
        tokens = _tokens(text)
        rate = setting("NATS", "2.0")
        scored = [None, *({token: _entry(-rate * (1 + token / 256))} for token in tokens[1:])]
        given = f"{text.split('+')[0].strip()} and 1 is {len(text)}"
        return SimpleNamespace(
            prompt_token_ids=tokens, prompt_logprobs=scored, outputs=[SimpleNamespace(text=given)]
        )

    def _logits(self, request):
        assert self._arguments["logprobs_mode"] == "raw_logits"
        # A verify step, with a few query tokens behind cached ones, can be made wrong alone.
        wrong = setting("VERIFY_ERROR") if request.cached else 0.0
        total = sum(request.tokens)
        return [math.sin(total + token) + setting("LOGIT_NOISE") + wrong for token in range(VOCABULARY)]


def _entry(value):
    return SimpleNamespace(logprob=value)


def _tokens(prompt):
    return [ord(letter) for letter in prompt] if isinstance(prompt, str) else prompt["prompt_token_ids"]


def _shared(one, other):
    same = 0
    while same < min(len(one) - 1, len(other)) and one[same] == other[same]:
        same += 1
    return same // BLOCK * BLOCK


def _is_warm() -> bool:
    """Compile once into the cache, as vLLM does, and tell whether that was done before."""
    artifact = Path(os.environ["VLLM_CACHE_ROOT"], "torch_compile_cache", "artifact")
    if artifact.exists():
        return True
    artifact.parent.mkdir(parents=True, exist_ok=True)
    artifact.write_text(json.dumps({"compiled": True}))
    return False
