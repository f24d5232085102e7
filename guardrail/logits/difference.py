"""How far two arrays differ, first by their bytes and then in numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOP = 10
"""Tokens whose presence among the likeliest is compared."""


@dataclass(frozen=True, slots=True)
class Delta:
    """How far two arrays of one shape and type differ."""

    elements: int
    differing: int
    """Elements whose bytes differ."""
    nonfinite: tuple[int, int]
    """Elements of each that are NaN or infinite."""
    compared: int
    """Elements that are finite in both."""
    max_abs: float
    """Largest difference where both are finite; 0 where none is."""
    mean_abs: float
    """Mean difference where both are finite."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How two rows of logits rank the vocabulary."""

    argmax: tuple[int, int]
    margin: tuple[float, float]
    """How far the first is ahead of the second, in logits."""
    shared_top: int
    """Tokens that both have among their likeliest."""
    top: int
    """How many likeliest were looked at."""


@dataclass(frozen=True, slots=True)
class LogitDifference:
    """How far two dumps of logits differ."""

    delta: Delta
    worst_at: tuple[int, int]
    """Sequence and vocabulary index of the largest difference."""
    kl: float | None
    """Largest KL(A || B) of a sequence, in nats; None where one has a logit that is not finite."""
    rankings: tuple[Ranking, ...]
    """One for each sequence."""

    @property
    def argmax_differs(self) -> int:
        """Count sequences whose likeliest token is another."""
        return sum(ranking.argmax[0] != ranking.argmax[1] for ranking in self.rankings)


def differing_elements(one: "NDArray[Any]", other: "NDArray[Any]") -> int:
    """Count elements whose bytes differ; arrays of unlike shape or type differ in all of the first's."""
    import numpy as np

    if one.shape != other.shape or one.dtype != other.dtype:
        return max(one.size, 1)
    if one.size == 0:
        return 0
    rows = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other)]
    unequal = (rows[0] != rows[1]).reshape(one.size, one.itemsize)
    return int(unequal.any(axis=1).sum())


def delta_of(one: "NDArray[Any]", other: "NDArray[Any]") -> Delta:
    """Compare two arrays of one shape and type."""
    import numpy as np

    finite = np.isfinite(one) & np.isfinite(other)
    distance = np.abs(one[finite].astype(np.float64) - other[finite].astype(np.float64))
    return Delta(
        elements=one.size,
        differing=differing_elements(one, other),
        nonfinite=(nonfinite_elements(one), nonfinite_elements(other)),
        compared=distance.size,
        max_abs=float(distance.max(initial=0.0)),
        mean_abs=float(distance.mean()) if distance.size else 0.0,
    )


def nonfinite_elements(array: "NDArray[Any]") -> int:
    """Count elements that are NaN or infinite."""
    import numpy as np

    return int(array.size - np.isfinite(array).sum())


def compare_logits(one: "NDArray[Any]", other: "NDArray[Any]", top: int = TOP) -> LogitDifference:
    """Compare logits.

    Args:
        one: fp32 [sequences, vocabulary].
        other: Shaped alike.
        top: How many likeliest tokens to look at.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        distance = np.abs(one.astype(np.float64) - other.astype(np.float64))
    row, column = divmod(int(np.argmax(np.where(np.isfinite(distance), distance, -1.0))), one.shape[1])
    delta = delta_of(one, other)
    kl = None if any(delta.nonfinite) else max(_kl(*pair) for pair in zip(one, other, strict=True))
    rankings = tuple(_rank(*pair, min(top, one.shape[1])) for pair in zip(one, other, strict=True))
    return LogitDifference(delta, (row, column), kl, rankings)


def delta_ranges(one: "NDArray[Any]", other: "NDArray[Any]", most: int) -> list[tuple[float, float]]:
    """Give the lowest and highest ``other - one`` of consecutive vocabulary indices.

    Args:
        one: Logits of one sequence, [vocabulary].
        other: Shaped alike.
        most: Ranges at most; each index has its own where the vocabulary is no larger.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        signed = other.astype(np.float64) - one.astype(np.float64)
    signed = np.where(np.isfinite(signed), signed, 0.0)
    parts = np.array_split(signed, min(most, signed.size))
    return [(float(part.min()), float(part.max())) for part in parts]


def _kl(one: "NDArray[Any]", other: "NDArray[Any]") -> float:
    """Compute ``sum p_one (log p_one - log p_other)`` of two softmaxes, in nats."""
    import numpy as np

    logs = []
    for row in (one, other):
        shifted = row.astype(np.float64) - row.max()
        logs.append(shifted - np.log(np.exp(shifted).sum()))
    return max(0.0, float((np.exp(logs[0]) * (logs[0] - logs[1])).sum()))


def _rank(one: "NDArray[Any]", other: "NDArray[Any]", top: int) -> Ranking:
    import numpy as np

    # NaN sorts last, so that it is never the likeliest.
    orders = [np.argsort(-row.astype(np.float64), kind="stable") for row in (one, other)]
    margins = [
        float(row[order[0]]) - float(row[order[1]]) if row.size > 1 else 0.0
        for row, order in zip((one, other), orders, strict=True)
    ]
    shared = set(orders[0][:top].tolist()) & set(orders[1][:top].tolist())
    return Ranking(
        (int(orders[0][0]), int(orders[1][0])),
        (margins[0], margins[1]),
        len(shared),
        top,
    )
