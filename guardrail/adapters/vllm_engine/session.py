"""One session of decoding: boots of one arm or of two in turns. Runs in a worker for commands."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardrail.adapters.compile_caches import compile_caches
from guardrail.adapters.private_caches import CACHE_VARIABLES, Caches
from guardrail.adapters.vllm_engine.asking import decode
from guardrail.adapters.vllm_engine.client import Prompt
from guardrail.adapters.vllm_engine.load_gate import Gate, wait_until_quiet
from guardrail.adapters.vllm_engine.prompts import drawn, fresh_seed, read_prompts
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import UsageError
from guardrail.quality.repetition import repeated_share
from guardrail.records.cache import Cache
from guardrail.results import decode as decode_results
from guardrail.spec.engine_files import EngineFile, VllmEngine, load_engine

_SERIES = {
    "ms_per_step": "decode",
    "tokens_per_second": "tokens_per_second",
    "isolated_tokens_per_second": "isolated_tokens_per_second",
}
"""Names of the reader's series by metric."""


@dataclass(frozen=True, slots=True)
class _Arm:
    name: str
    engine: EngineFile
    folder: Path

    @classmethod
    def read(cls, name: str, path: Path) -> "_Arm":
        return cls(name, load_engine(path), path.resolve().parent)


def run_session(
    subject: FileSubject,
    against: str | None,
    prompts_file: str | None,
    workload: Mapping[str, Any],
    rounds: int,
    cache: str,
    largest_load: float,
    wait_seconds: float,
) -> dict[str, Any]:
    """Ask one engine, or two in alternating order, in every round.

    Args:
        subject: The engine's description.
        against: Path of the other engine's description.
        prompts_file: Path of the prompts; drawn anew for each round where None.
        workload: Keys of `guardrail.probes.serving_guard.Workload`.
        rounds: Boots of each engine, or visits to a running server.
        cache: Who shares a compile cache, see `Cache`.
        largest_load: Load of the host, over its processors, above which nothing starts.
        wait_seconds: How long to wait for a quiet machine before each boot.

    Returns:
        Plain data: ``arms``, a list of rounds for ``subject`` and ``against``; ``prompts``, where they are
        from; ``busy``, why the session ended early, or nothing.

    Raises:
        UsageError: The engines and the caches do not go together.
        MeasurementError: An engine fails.
    """
    arms = [_Arm.read("subject", Path(subject.path))]
    if against is not None:
        arms.append(_Arm.read("against", Path(against)))
    _require_bootable(arms, Cache(cache))
    seed = fresh_seed()
    stated = None if prompts_file is None else read_prompts(Path(prompts_file))
    gate = Gate(largest_load, wait_seconds)
    found: dict[str, list[dict[str, Any]]] = {arm.name: [] for arm in arms}
    told = f"prompts drawn with seed {seed}" if stated is None else f"prompts of {prompts_file}"
    with Caches.opened(Cache(cache)) as caches:
        for number in range(rounds):
            prompts = _prompts(stated, workload, seed + number)
            # Taking turns in the order lets what drifts drift for both.
            for arm in arms if number % 2 == 0 else reversed(arms):
                if busy := wait_until_quiet(gate, with_gpu=isinstance(arm.engine, VllmEngine)):
                    return {"arms": found, "prompts": told, "busy": busy}
                found[arm.name].append(_round(arm, prompts, workload["new_tokens"], caches))
    return {"arms": found, "prompts": told, "busy": ""}


def _require_bootable(arms: Sequence[_Arm], cache: Cache) -> None:
    for arm in arms if cache is not Cache.SHARED else ():
        if not isinstance(arm.engine, VllmEngine):
            raise UsageError(f"'cache: {cache}' needs engines that are booted, not {arm.engine.engine}")
        if private := sorted(set(CACHE_VARIABLES) & arm.engine.environment.keys()):
            raise UsageError(f"'cache: {cache}' sets {private[0]} itself; leave it out of the engine's own")


def _prompts(stated: list[Prompt] | None, workload: Mapping[str, Any], seed: int) -> list[Prompt]:
    """Give a round's prompts behind one to warm up with, which no other begins like."""
    count, tokens, vocabulary = (workload[key] for key in ("requests", "prompt_tokens", "vocabulary"))
    warm_up, *others = drawn(1 + (count if stated is None else 0), tokens, vocabulary, seed)
    return [warm_up, *(others if stated is None else stated)]


def _round(arm: _Arm, prompts: Sequence[Prompt], new_tokens: int, caches: Caches) -> dict[str, Any]:
    variables = caches.variables(arm.name)
    before = _cache_states(arm.engine, variables)
    decoded = decode(arm.engine, arm.folder, prompts, new_tokens, variables)
    requests = decoded.requests
    output = decode_results.read(json.dumps({"requests": list(requests)}), f"engine {arm.name}")
    series = {metric: output.series(name) for metric, name in _SERIES.items()}
    steps = [len(request["content_times"]) for request in requests]
    return {
        **{metric: found.samples for metric, found in series.items()},
        "tokens_per_step": [
            (request["completion_tokens"] - 1) / (count - 1)
            for request, count in zip(requests, steps, strict=True)
        ],
        "steps": steps,
        "completion_tokens": [request["completion_tokens"] for request in requests],
        "cached_tokens": [request["cached_tokens"] for request in requests],
        "repeated_share": [repeated_share(request["token_ids"]) for request in requests],
        "late_compilations": decoded.late_compilations,
        "times": series["ms_per_step"].times,
        "text": series["ms_per_step"].notes.get("text_sha256"),
        "cache_before": before,
        "cache_after": _cache_states(arm.engine, variables),
    }


def _cache_states(engine: EngineFile, variables: Mapping[str, str]) -> dict[str, str]:
    """Fingerprint the caches that a boot uses; those of a running server are not known."""
    if not isinstance(engine, VllmEngine):
        return {}
    environment = {**os.environ, **engine.environment, **variables}
    return {cache.name: cache.state for cache in compile_caches(environment)}
