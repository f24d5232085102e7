"""What is to decide between two arms, in one line each."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from guardrail.errors import UsageError

Quantity = Literal["B/A", "B-A"]
Relation = Literal["<=", ">="]

_LINE = re.compile(r"\s*B\s*(?P<operator>[/-])\s*A\s*(?P<relation><=|>=)\s*(?P<limit>\S+)\s*")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A bound on the ratio or the difference of the arms."""

    quantity: Quantity
    relation: Relation
    limit: float

    def __str__(self) -> str:
        """Write it as the command line takes it."""
        return f"{self.quantity} {self.relation} {self.limit:g}"

    def is_met(self, interval: tuple[float, float]) -> bool:
        """Tell whether a whole interval keeps the bound."""
        low, high = interval
        return high <= self.limit if self.relation == "<=" else low >= self.limit

    def excludes(self, other: "Criterion") -> bool:
        """Tell whether no value keeps both bounds; never between a ratio and a difference."""
        if self.quantity != other.quantity or self.relation == other.relation:
            return False
        upper, lower = (self, other) if self.relation == "<=" else (other, self)
        return upper.limit < lower.limit


def parse_criterion(text: str, option: str) -> Criterion:
    """Read a criterion such as ``B/A <= 0.996``.

    Args:
        text: The criterion.
        option: The option that it was given with, for messages.

    Raises:
        UsageError: It is none.
    """
    match = _LINE.fullmatch(text)
    try:
        limit = float(match["limit"]) if match else math.nan
    except ValueError:
        limit = math.nan
    if match is None or not math.isfinite(limit):
        raise UsageError(f"{option} {text!r}: expected a bound such as 'B/A <= 0.996' or 'B-A >= 0.5'")
    quantity: Quantity = "B/A" if match["operator"] == "/" else "B-A"
    if quantity == "B/A" and limit <= 0:
        raise UsageError(f"{option} {text!r}: a ratio is positive")
    return Criterion(quantity, "<=" if match["relation"] == "<=" else ">=", limit)


def require_exclusive(accept: tuple[Criterion, ...], veto: tuple[Criterion, ...]) -> None:
    """Refuse criteria by which one result could be accepted and vetoed.

    Raises:
        UsageError: They do not exclude each other.
    """
    if not any(wanted.excludes(refused) for wanted in accept for refused in veto):
        wanted_words, refused_words = (" and ".join(map(str, each)) for each in (accept, veto))
        raise UsageError(
            f"--accept {wanted_words} and --veto {refused_words} can both be met by one result; "
            "leave a gap between them"
        )
