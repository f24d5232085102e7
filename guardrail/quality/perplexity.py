"""Perplexity of a text, window by window."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from guardrail.errors import MeasurementError
from guardrail.quality.bootstrap import FEWEST_PARTS, bootstrap_interval


@dataclass(frozen=True, slots=True)
class Scored:
    """What an engine made of one window."""

    nats: float
    """Negative log-likelihood of its tokens behind the first."""
    tokens: int


@dataclass(frozen=True, slots=True)
class Estimated:
    """An estimate with its interval."""

    value: float
    interval: tuple[float, float]


def windows(text: str, characters: int, most: int) -> list[str]:
    """Cut a text into windows that do not overlap; what is left at its end is too short for one.

    Args:
        text: The whole text.
        characters: Length of a window.
        most: Windows at most, the first ones.

    Raises:
        MeasurementError: There are too few for an interval.
    """
    starts = range(0, min(len(text) // characters, most) * characters, characters)
    found = [text[start : start + characters] for start in starts]
    if len(found) < FEWEST_PARTS:
        raise MeasurementError(
            f"the text gives {len(found)} windows of {characters} characters, and an interval needs "
            f"{FEWEST_PARTS}; take a longer text or shorter windows"
        )
    return found


def scored(logprobs: Sequence[float]) -> Scored:
    """Add up one window's log-probabilities.

    Args:
        logprobs: Natural logarithms, one for each token behind the first.

    Raises:
        MeasurementError: There are none, or one is no log-probability.
    """
    if not logprobs:
        raise MeasurementError("a window is a single token, which has no likelihood; take longer windows")
    wrong = [value for value in logprobs if not value <= 0 or math.isinf(value)]
    if wrong:
        raise MeasurementError(f"{wrong[0]} is no log-probability; is logprobs_mode 'raw_logprobs'?")
    return Scored(-math.fsum(logprobs), len(logprobs))


def perplexity(parts: Sequence[Scored], confidence: float) -> Estimated:
    """Compute ``exp(nats / tokens)`` over all windows, with a bootstrap interval over windows."""
    return Estimated(_perplexity(parts), bootstrap_interval(parts, _perplexity, confidence))


def perplexity_ratio(base: Sequence[Scored], other: Sequence[Scored], confidence: float) -> Estimated:
    """Compute by what factor one engine's perplexity is another's, resampling windows of both together.

    What makes a window hard is the same for both and drops out.

    Args:
        base: Windows as the base engine scored them.
        other: The same windows as the other engine did.
        confidence: Of the interval.

    Raises:
        MeasurementError: The engines cut the text into unlike tokens.
    """
    if [part.tokens for part in base] != [part.tokens for part in other]:
        raise MeasurementError("the two engines cut the text into unlike tokens, so no ratio compares them")

    def ratio(pairs: Sequence[tuple[Scored, Scored]]) -> float:
        return _perplexity([now for _, now in pairs]) / _perplexity([before for before, _ in pairs])

    pairs = list(zip(base, other, strict=True))
    return Estimated(ratio(pairs), bootstrap_interval(pairs, ratio, confidence))


def _perplexity(parts: Sequence[Scored]) -> float:
    return math.exp(math.fsum(part.nats for part in parts) / sum(part.tokens for part in parts))
