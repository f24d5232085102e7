"""Prompts: drawn with a seed, or stated as token ids."""

import random
from collections.abc import Sequence

from guardrail.errors import UsageError


def draw_prompts(vocabulary: int, sequences: int, tokens: int, seed: int) -> list[list[int]]:
    """Draw token ids, the same for a seed on every machine.

    Args:
        vocabulary: Tokens to draw from.
        sequences: How many prompts.
        tokens: Tokens of each.
        seed: Seed of the generator.
    """
    generator = random.Random(seed)
    return [[generator.randrange(vocabulary) for _ in range(tokens)] for _ in range(sequences)]


def parse_prompts(texts: Sequence[str]) -> list[list[int]] | None:
    """Read ``1,2,3``, one text for each sequence; None where there is none.

    Raises:
        UsageError: One is not a list of token ids.
    """
    return [_parse(text) for text in texts] or None


def _parse(text: str) -> list[int]:
    try:
        tokens = [int(part) for part in text.split(",")]
    except ValueError:
        tokens = []
    if not tokens or min(tokens) < 0:
        raise UsageError(f"--prompt-ids {text!r}: expected token ids with commas between them: 1,2,3")
    return tokens
