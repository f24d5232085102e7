"""What decides a comparison, whatever its arms are."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from guardrail.ab.criterion import Criterion, require_exclusive
from guardrail.errors import UsageError
from guardrail.stats.intervals import samples_needed
from guardrail.stats.sequential import Looks, plan_looks

_STEP = 2
"""Looks come after an even number of pairs, half of which ran in each order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms(ABC):
    """What is measured of two arms, how often, and what it must say."""

    metric: str
    """Name of the compared metric."""
    controls: tuple[str, ...] = ()
    """Names of what must not move."""
    beside: tuple[str, ...] = ()
    """Names of further metrics, which are reported and decide nothing."""
    accept: tuple[Criterion, ...] = ()
    veto: tuple[Criterion, ...] = ()
    self_compare: bool = False
    """Compare an arm with itself: the interval of the ratio should hold 1."""
    pairs: int = 40
    """Pairs at most."""
    budget: float = 3600.0
    """Seconds after which no further pair begins."""
    confidence: float = 0.95
    """Confidence that the intervals of all looks together keep."""

    @property
    def looks(self) -> Looks:
        """When the pairs are judged: an arm with itself once, at the end."""
        planned = plan_looks(self.confidence, self.pairs, _STEP)
        if self.self_compare and planned.sizes:
            return Looks(planned.sizes[-1:], self.confidence)
        return planned

    @abstractmethod
    def shown_arms(self) -> dict[str, str]:
        """Write each arm as the command line takes it, by its side."""

    @abstractmethod
    def shown_metric(self) -> str:
        """Write the metric with what reads it."""

    @abstractmethod
    def conditions(self) -> Mapping[str, str]:
        """Name what both arms are measured under."""


def require_decisive(terms: Terms) -> None:
    """Refuse terms that could not decide anything.

    Raises:
        UsageError: They could not; says what would.
    """
    if terms.self_compare and (terms.accept or terms.veto):
        raise UsageError(
            "--self-compare asks whether the ratio is 1, so it takes neither --accept nor --veto"
        )
    if not terms.self_compare:
        if not terms.accept or not terms.veto:
            raise UsageError(
                "give --accept and --veto: a criterion that is chosen afterwards decides nothing"
            )
        require_exclusive(terms.accept, terms.veto)
    if not terms.looks.sizes:
        needed = samples_needed(terms.confidence)
        needed += needed % _STEP
        raise UsageError(
            f"--pairs {terms.pairs}: too few for an interval at --confidence {terms.confidence:g}; "
            f"give {needed} or more"
        )
