"""A change that was predicted before it was measured."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from guardrail.errors import UsageError

_PATTERN = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?%")
_ABSOLUTE = 0.005
_RELATIVE = 0.2


@dataclass(frozen=True, slots=True)
class Prediction:
    """By how much a metric was said to move."""

    text: str
    change: float
    """As a fraction of the old value: -0.027."""


def parse_prediction(text: str) -> Prediction:
    """Read ``-2.7%``.

    Raises:
        UsageError: The text is no percentage.
    """
    if not _PATTERN.fullmatch(text):
        raise UsageError(f"--predict {text}: expected the change of the metric in percent, such as -2.7%")
    return Prediction(text, float(text.removesuffix("%")) / 100)


def contradiction(prediction: Prediction, changes: Sequence[float]) -> str:
    """Say how the measured changes contradict a prediction.

    Args:
        prediction: What was predicted.
        changes: The change in each window, as fractions of the old value.

    Returns:
        The sentence; empty where the prediction lies within the windows' own range, give or take half a
        percent or a fifth of it, whichever is more.
    """
    room = max(_ABSOLUTE, _RELATIVE * abs(prediction.change))
    low, high = min(changes), max(changes)
    if low - room <= prediction.change <= high + room:
        return ""
    return (
        f"{prediction.text} was predicted, but the windows measured {low:+.2%} to {high:+.2%}: the mechanism "
        "is not understood yet; find what else moved, or predict from arithmetic that explains it"
    )
