"""Logits of engines on the same prompts. Runs in a worker for commands."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.adapters.vllm_engine.process import boot_vllm, run_transformers
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.packing import Packed, pack, unpack
from guardrail.spec.engine_files import TransformersEngine, VllmEngine, load_engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST_STEP = "first step"

Row = Mapping[str, Any]
"""``logits``, packed, behind the last token of ``prompt``."""


def collect_logits(
    subject: FileSubject,
    reference: str,
    pair: str | None,
    prompts: Sequence[Sequence[int]],
    query_tokens: Sequence[int],
) -> dict[str, Any]:
    """Run every engine on every prompt: whole, and as a verify step behind the prefix cache.

    Args:
        subject: Description of the engine in question, which is vLLM.
        reference: Path of the description of the one to compare with.
        pair: Path of the description of a second reference.
        prompts: Token ids of each sequence.
        query_tokens: Query tokens of each verify step.

    Returns:
        Plain data: ``steps``, the packed logits [sequences, vocabulary] of ``subject``, ``reference`` and
        ``pair`` for each step.

    Raises:
        GuardrailError: An engine fails, or the engines did not run on the same tokens.
    """
    asked = requests_for(prompts, query_tokens)
    rows = {"subject": _vllm_rows(Path(subject.path), asked)}
    tokens = [row["prompt"] for row in rows["subject"]]
    for role, path in (("reference", reference), ("pair", pair)):
        if path is not None:
            rows[role] = _rows(Path(path), asked, tokens)
    found: dict[str, dict[str, Packed]] = {}
    for number, step in enumerate((FIRST_STEP, *(f"{count} query tokens" for count in query_tokens))):
        place = slice(number * len(prompts), (number + 1) * len(prompts))
        found[step] = {role: pack(stack_logits(given[place], role)) for role, given in rows.items()}
    return {"steps": found}


def requests_for(prompts: Sequence[Sequence[int]], query_tokens: Sequence[int]) -> list[dict[str, Any]]:
    """List what `guardrail.adapters.vllm_engine.offline.Engine.logits` is asked, step by step."""
    verify = [{"prompt": prompt, "query_tokens": count} for count in query_tokens for prompt in prompts]
    return [*({"prompt": prompt} for prompt in prompts), *verify]


def vllm_rows(engine: VllmEngine, folder: Path, asked: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
    """Boot vLLM for its raw logits.

    Raises:
        MeasurementError: It fails, or a verify step had other query tokens than it was meant to.
    """
    rows: Sequence[Row] = boot_vllm(engine, folder, [("logits", {"requests": asked})]).answers[0]
    for request, row in zip(asked, rows, strict=True):
        wanted = request.get("query_tokens")
        if wanted is not None and not row["query_tokens"] == wanted < len(row["prompt"]):
            cached = len(row["prompt"]) - row["query_tokens"]
            raise MeasurementError(
                f"a step of {row['query_tokens']} query tokens behind {cached} cached ones ran, and one of "
                f"{wanted} behind a whole block was meant; enable_prefix_caching must be on, block_size no "
                "less than the query tokens, and prompts longer than both together"
            )
    return rows


def _vllm_rows(path: Path, asked: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
    engine = load_engine(path)
    if not isinstance(engine, VllmEngine):
        raise UsageError(f"{path}: raw logits are read from an engine of kind vllm, not {engine.engine}")
    return vllm_rows(engine, path.resolve().parent, asked)


def _rows(path: Path, asked: Sequence[Mapping[str, Any]], tokens: Sequence[Sequence[int]]) -> Sequence[Row]:
    engine = load_engine(path)
    if isinstance(engine, TransformersEngine):
        rows: Sequence[Row] = run_transformers(engine, path.resolve().parent, tokens).answers[0]
        return rows
    rows = _vllm_rows(path, asked)
    if [row["prompt"] for row in rows] != list(tokens):
        raise MeasurementError(
            f"{path}: its verify steps begin at other tokens than the subject's, because its blocks are of "
            "another size; give both the same block_size"
        )
    return rows


def stack_logits(rows: Sequence[Row], role: str) -> "NDArray[Any]":
    """Give the logits of several rows, fp32 [sequences, vocabulary].

    Args:
        rows: Of one step.
        role: Whose they are, for the message.

    Raises:
        MeasurementError: They are of unlike lengths.
    """
    import numpy as np

    arrays = [unpack(row["logits"]) for row in rows]
    if len({array.shape for array in arrays}) > 1:
        raise MeasurementError(f"the {role} gave logits of unlike lengths; is its max_logprobs limited?")
    return np.stack(arrays)
