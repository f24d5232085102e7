"""Questions with one right answer each, and how many were answered."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from guardrail.errors import MeasurementError
from guardrail.quality.perplexity import Estimated
from guardrail.stats.exact import binomial_interval

_NUMBER = re.compile(r"-?(?:\d[\d,]*)?\.?\d+")
_TOLERANCE = 1e-6
"""Relative difference up to which two numbers are the same answer."""


class Match(StrEnum):
    """What a right answer is."""

    NUMBER = "number"
    """The last number of the completion is the answer's."""
    TEXT = "text"
    """The completion is the answer, but for white space around it."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question."""

    prompt: str
    answer: str


def read_questions(text: str, source: str) -> list[Question]:
    """Read one JSON object a line: ``{"prompt": "...", "answer": "..."}``.

    Args:
        text: The file's content.
        source: The file, for messages.

    Raises:
        MeasurementError: A line is no question, or there is none.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise MeasurementError(f"{source}: expected one question a line, and there is none")
    return [_question(line, f"{source}:{number}") for number, line in lines]


def is_right(completion: str, answer: str, match: Match) -> bool:
    """Tell whether a completion answers a question."""
    if match is Match.TEXT:
        return completion.strip() == answer.strip()
    given, expected = _last_number(completion), _last_number(answer)
    if given is None or expected is None:
        return False
    return abs(given - expected) <= _TOLERANCE * max(1.0, abs(expected))


def accuracy(
    questions: Sequence[Question], completions: Sequence[str], match: Match, confidence: float
) -> Estimated:
    """Compute the share of right answers, with its exact binomial interval."""
    pairs = zip(questions, completions, strict=True)
    right = sum(is_right(completion, question.answer, match) for question, completion in pairs)
    return Estimated(right / len(questions), binomial_interval(right, len(questions), confidence))


def _question(line: str, place: str) -> Question:
    try:
        row = json.loads(line)
        prompt, answer = row["prompt"], row["answer"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MeasurementError(f'{place}: expected {{"prompt": "...", "answer": "..."}}') from error
    if not isinstance(prompt, str) or not prompt or isinstance(answer, bool | list | dict | None):
        raise MeasurementError(f"{place}: expected a prompt that is text and an answer, text or a number")
    return Question(prompt, str(answer))


def _last_number(text: str) -> float | None:
    found = _NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None
