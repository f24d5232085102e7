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


def check_prompts(prompts: Sequence[Sequence[int]], vocabulary: int | None, whose: str) -> None:
    """Refuse prompts that one dump of a model cannot be of.

    Args:
        prompts: Token ids of each sequence, as `parse_prompts` reads them.
        vocabulary: Tokens that the model knows; None where that is not known yet.
        whose: The model, for the message.

    Raises:
        UsageError: They are of unlike lengths, or a token is outside the vocabulary.
    """
    if len({len(prompt) for prompt in prompts}) > 1:
        raise UsageError("--prompt-ids: prompts of one dump are equally long; dump others one by one")
    largest = max(max(prompt) for prompt in prompts)
    if vocabulary is not None and largest >= vocabulary:
        raise UsageError(f"--prompt-ids: token {largest} is outside {whose}'s vocabulary of {vocabulary}")


def _parse(text: str) -> list[int]:
    try:
        tokens = [int(part) for part in text.split(",")]
    except ValueError:
        tokens = []
    if not tokens or min(tokens) < 0:
        raise UsageError(f"--prompt-ids {text!r}: expected token ids with commas between them: 1,2,3")
    return tokens
