"""Dumps of vLLM's raw logits."""

from collections.abc import Sequence
from pathlib import Path

from guardrail.adapters.device import executing_gpu
from guardrail.adapters.logits.sources import Dumped, file_hash, surroundings
from guardrail.adapters.vllm_engine.logits import requests_for, stack_logits, vllm_rows
from guardrail.errors import UsageError
from guardrail.logits.dump import Identity
from guardrail.spec.engine_files import VllmEngine, load_engine


def dump_vllm_engine(path: Path, prompts: Sequence[Sequence[int]] | None, query_tokens: int | None) -> Dumped:
    """Boot vLLM for the logits behind each prompt's last token.

    Args:
        path: Description of the engine.
        prompts: Token ids of each sequence.
        query_tokens: Tokens of the one step that gives the logits, all before them from the prefix cache; the
            prompts whole, as the first step takes them, where None.

    Raises:
        UsageError: It is no vLLM engine, or there are no prompts.
        MeasurementError: It could not run.
    """
    engine = load_engine(path)
    if not isinstance(engine, VllmEngine):
        raise UsageError(f"--vllm {path}: expected an engine of kind vllm, not {engine.engine}")
    if prompts is None:
        raise UsageError("--vllm needs --prompt-ids 1,2,3: a model says nothing without a prompt")
    begun = surroundings(executing_gpu())
    asked = requests_for(prompts, [] if query_tokens is None else [query_tokens])
    rows = vllm_rows(engine, path.resolve().parent, asked)[-len(prompts) :]
    step = "whole prompt" if query_tokens is None else f"step of {query_tokens} query tokens"
    identity = Identity(
        engine=f"vllm {path}, {step}",
        build=file_hash(path),
        prompts=tuple(tuple(row["prompt"]) for row in rows),
        provenance=begun,
    )
    return Dumped(stack_logits(rows, str(path)), identity)
