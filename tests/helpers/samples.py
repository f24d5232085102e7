"""Shapes of noise with known medians, for simulations."""

import math
import random
from collections.abc import Callable, Mapping

Draw = Callable[[random.Random], float]


def _two_clocks(rng: random.Random) -> float:
    """Draw what a card measures that runs now at one clock, now at another."""
    return rng.gauss(100.0, 1.0) if rng.random() < 0.5 else rng.gauss(112.0, 1.0)


SHAPES: Mapping[str, tuple[Draw, float]] = {
    "skewed": (lambda rng: 100.0 + rng.expovariate(0.2), 100.0 + 5.0 * math.log(2.0)),
    "bimodal": (_two_clocks, 106.0),
    "heavy-tailed": (lambda rng: 1000.0 + math.tan(math.pi * (rng.random() - 0.5)), 1000.0),
    "normal": (lambda rng: rng.gauss(100.0, 2.0), 100.0),
}
"""A draw of one sample, and the median of its distribution."""
