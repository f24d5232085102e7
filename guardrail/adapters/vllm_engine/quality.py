"""What an engine makes of texts and questions. Runs in a worker for commands."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guardrail.adapters.vllm_engine.asking import score_and_answer
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import MeasurementError
from guardrail.quality.perplexity import Estimated, Scored, perplexity, perplexity_ratio, scored, windows
from guardrail.quality.questions import Match, Question, accuracy, read_questions
from guardrail.spec.engine_files import load_engine

File = Mapping[str, str]
"""``name``, as the guard has it, ``path`` and ``hash``."""


def judge_quality(
    subject: FileSubject,
    against: str | None,
    texts: Sequence[File],
    questions: File | None,
    match: str,
    window_characters: int,
    most_windows: int,
    answer_tokens: int,
    confidence: float,
) -> list[dict[str, Any]]:
    """Score texts and count right answers.

    Args:
        subject: Description of the engine.
        against: Path of another engine's description, which is given the texts alone.
        texts: Texts with the hashes that they must have.
        questions: Questions with the hash that they must have; none where None.
        match: What a right answer is, see `Match`.
        window_characters: Characters that are scored together.
        most_windows: Windows of each text at most.
        answer_tokens: Tokens that an answer may have.
        confidence: Of every interval.

    Returns:
        One row for each metric and file: plain data.

    Raises:
        GuardrailError: A file has another content than was agreed on, or an engine fails.
    """
    parts = [windows(_read_pinned(text), window_characters, most_windows) for text in texts]
    asked = [] if questions is None else read_questions(_read_pinned(questions), questions["path"])
    lengths = [len(part) for part in parts]
    flat = [window for part in parts for window in part]
    own, completions = _ask(Path(subject.path), flat, asked, answer_tokens)
    other = None if against is None else _ask(Path(against), flat, [], answer_tokens)[0]
    rows = []
    start = 0
    for text, length in zip(texts, lengths, strict=True):
        mine = own[start : start + length]
        tokens = sum(part.tokens for part in mine)
        told = f"{length} windows of {window_characters} characters, {tokens} tokens"
        rows.append(_row("perplexity", text, perplexity(mine, confidence), length, told))
        if other is not None:
            ratio = perplexity_ratio(other[start : start + length], mine, confidence)
            rows.append(_row("perplexity_ratio", text, ratio, length, told))
        start += length
    if questions is not None:
        found = accuracy(asked, completions, Match(match), confidence)
        told = f"{round(found.value * len(asked))} of {len(asked)} answers are right"
        rows.append(_row("accuracy", questions, found, len(asked), told))
    return rows


def _ask(
    path: Path, texts: Sequence[str], questions: Sequence[Question], answer_tokens: int
) -> tuple[list[Scored], list[str]]:
    prompts = [question.prompt for question in questions]
    engine = load_engine(path)
    logprobs, answers = score_and_answer(engine, path.resolve().parent, texts, prompts, answer_tokens)
    return [scored(values) for values in logprobs], answers


def _read_pinned(file: File) -> str:
    """Read a file, and refuse any content but the agreed one: scores on another text are no comparison."""
    try:
        content = Path(file["path"]).read_bytes()
    except OSError as error:
        raise MeasurementError(f"{file['path']}: cannot be read: {error.strerror}") from error
    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if found != file["hash"]:
        raise MeasurementError(
            f"{file['path']} has the hash {found}, and the guard is about {file['hash']}; put the agreed "
            "file back, or pin the new one and measure its bounds anew"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MeasurementError(f"{file['path']}: this is not UTF-8 text") from error


def _row(metric: str, file: File, found: Estimated, inspected: int, told: str) -> dict[str, Any]:
    return {
        "metric": metric,
        "file": file["name"],
        "value": found.value,
        "interval": found.interval,
        "inspected": inspected,
        "told": told,
    }
