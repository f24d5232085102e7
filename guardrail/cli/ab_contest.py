"""What ``guardrail ab`` needs of a comparison, whatever its arms are."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from guardrail.ab.comparison import Comparison, Pair, Spoiled, Warmed
from guardrail.ab.terms import Terms
from guardrail.adapters.device import Gpu


class Contest(Protocol):
    """Two arms that are ready to be measured."""

    @property
    def terms(self) -> Terms:
        """What decides."""

    def require_measurable(self, gpu: Gpu | None) -> None:
        """Refuse what this machine cannot measure.

        Raises:
            MeasurementError: It cannot.
            UsageError: The arms cannot be measured anywhere.
        """

    def head(self) -> list[str]:
        """Say what is compared, and that it differs in nothing else."""

    def arms(self) -> Mapping[str, Mapping[str, Any]]:
        """Give each arm as plain data, by its side."""

    def events(self) -> Iterator[Warmed | Pair | Spoiled | Comparison]:
        """Warm up and say so, then measure until the verdict is clear; the comparison comes last."""

    def require_unchanged(self) -> None:
        """Refuse a comparison during which an arm was changed.

        Raises:
            MeasurementError: One was.
        """
