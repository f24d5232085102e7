"""The prompts that engines are asked with."""

import json
import random
from pathlib import Path

from guardrail.adapters.vllm_engine.client import Prompt
from guardrail.errors import MeasurementError
from guardrail.logits.prompts import draw_prompts


def drawn(count: int, tokens: int, vocabulary: int, seed: int) -> list[list[int]]:
    """Draw prompts of token ids, none twice: a repeated one would come out of the prefix cache."""
    return draw_prompts(vocabulary, count, tokens, seed)


def fresh_seed() -> int:
    """Draw a seed that no earlier run has used, so that no server knows its prompts."""
    return random.SystemRandom().randrange(2**31)


def read_prompts(path: Path) -> list[Prompt]:
    """Read one prompt a line: JSON text, or a list of token ids.

    Raises:
        MeasurementError: The file cannot be read, or a line is neither.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MeasurementError(f"{path}: these prompts cannot be read: {error}") from error
    prompts = [_prompt(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not prompts:
        raise MeasurementError(f"{path}: expected one prompt a line, and there is none")
    return prompts


def _prompt(line: str, place: str) -> Prompt:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(type(token) is int and token >= 0 for token in value):
        return value
    raise MeasurementError(f'{place}: expected a prompt: "JSON text" or a list of token ids')
