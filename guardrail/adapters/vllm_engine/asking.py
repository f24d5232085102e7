"""The same questions for engines of every kind."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from guardrail.adapters.vllm_engine.client import Client, Prompt
from guardrail.adapters.vllm_engine.process import boot_vllm
from guardrail.errors import UsageError
from guardrail.spec.engine_files import EngineFile, ServerEngine, VllmEngine


def decode(
    engine: EngineFile,
    folder: Path,
    prompts: Sequence[Prompt],
    new_tokens: int,
    variables: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Serve prompts one after another, the first of them to warm up.

    Args:
        engine: Booted for it, or running.
        folder: Folder of its description.
        prompts: Texts or token ids.
        new_tokens: Tokens to generate for each.
        variables: Environment variables of a boot.

    Returns:
        For each prompt but the first: ``content_times``, ``completion_tokens``, ``text``, ``cached_tokens``.

    Raises:
        UsageError: The engine serves no requests.
        MeasurementError: It fails.
    """
    if isinstance(engine, VllmEngine):
        ask = ("decode", {"prompts": prompts, "new_tokens": new_tokens})
        answered: list[dict[str, Any]] = boot_vllm(engine, folder, [ask], variables).answers[0]
        return answered[1:]
    client = _client(engine)
    return [asdict(client.stream(prompt, new_tokens)) for prompt in prompts][1:]


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


def _client(engine: EngineFile) -> Client:
    if not isinstance(engine, ServerEngine):
        raise UsageError(f"an engine of kind {engine.engine!r} serves no requests; use vllm or server")
    return Client(engine.url, engine.model, engine.timeout_seconds)
