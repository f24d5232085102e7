"""The same questions for engines of every kind."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from guardrail.adapters.vllm_engine.client import Client, Prompt
from guardrail.adapters.vllm_engine.offline import TIMED
from guardrail.adapters.vllm_engine.process import boot_vllm
from guardrail.errors import UsageError
from guardrail.kvlog.remarks import Remarks
from guardrail.spec.engine_files import EngineFile, ServerEngine, VllmEngine


@dataclass(frozen=True, slots=True)
class Decoded:
    """What an engine gave for the prompts behind the first."""

    requests: Sequence[Mapping[str, Any]]
    """Each with ``content_times``, ``completion_tokens``, ``text``, ``token_ids``, ``cached_tokens``."""
    late_compilations: Sequence[str] | None
    """Kernels that were compiled meanwhile; None where nobody watched."""


def decode(
    engine: EngineFile,
    folder: Path,
    prompts: Sequence[Prompt],
    new_tokens: int,
    variables: Mapping[str, str],
) -> Decoded:
    """Serve prompts one after another, the first of them to warm up.

    Args:
        engine: Booted for it, or running.
        folder: Folder of its description.
        prompts: Texts or token ids.
        new_tokens: Tokens to generate for each.
        variables: Environment variables of a boot.

    Raises:
        UsageError: The engine serves no requests.
        MeasurementError: It fails.
    """
    if isinstance(engine, VllmEngine):
        ask = ("decode", {"prompts": prompts, "new_tokens": new_tokens})
        booted = boot_vllm(engine, folder, [ask], variables)
        return Decoded(booted.answers[0][1:], _late_compilations(booted.log))
    client = _client(engine)
    return Decoded([asdict(client.stream(prompt, new_tokens)) for prompt in prompts][1:], None)


def score_and_answer(
    engine: EngineFile, folder: Path, texts: Sequence[str], questions: Sequence[str], answer_tokens: int
) -> tuple[list[list[float]], list[str]]:
    """Score texts, and complete questions greedily.

    Returns:
        Log-probabilities of each text's tokens behind its first; and the completions.

    Raises:
        UsageError: The engine serves no requests.
        MeasurementError: It fails.
    """
    if isinstance(engine, VllmEngine):
        asks = (
            ("score", {"texts": texts}),
            ("answer", {"texts": questions, "new_tokens": answer_tokens}),
        )
        scored, answers = boot_vllm(engine, folder, asks).answers
        return [row["logprobs"] for row in scored], answers
    client = _client(engine)
    return (
        [client.score(text) for text in texts],
        [client.answer(question, answer_tokens) for question in questions],
    )


def _late_compilations(log: str) -> Sequence[str] | None:
    """Name the kernels that vLLM's monitor saw compiled once requests were timed."""
    warming, _, timed = log.partition(TIMED)
    remarks = Remarks()
    for line in warming.splitlines():
        remarks.hear(line)
    remarks.late.clear()
    for line in timed.splitlines():
        remarks.hear(line)
    return list(remarks.late) if remarks.watched else None


def _client(engine: EngineFile) -> Client:
    if not isinstance(engine, ServerEngine):
        raise UsageError(f"an engine of kind {engine.engine!r} serves no requests; use vllm or server")
    return Client(engine.url, engine.model, engine.timeout_seconds)
