"""``guardrail ab`` with two arms of operations."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guardrail.ab.comparison import Comparison, Pair, Spoiled, Warmed
from guardrail.ab.decide import decide
from guardrail.ab.subjects import SubjectPlan, pairs_of, require_sound_subjects, window_plan
from guardrail.adapters.device import Gpu
from guardrail.adapters.subject_arms import require_covering, timed_windows
from guardrail.errors import MeasurementError


@dataclass(frozen=True, slots=True)
class SubjectContest:
    """Two arms of operations that differ. See `guardrail.cli.ab_contest.Contest`."""

    terms: SubjectPlan
    sources: Mapping[str, str]
    """Hash of each arm's sources, by its side."""

    @classmethod
    def of(cls, plan: SubjectPlan) -> "SubjectContest":
        """Hash what the arms are made of.

        Raises:
            UsageError: The plan decides nothing, or the arms cannot be compared.
        """
        require_sound_subjects(plan)
        return cls(plan, _sources(plan))

    def require_measurable(self, gpu: Gpu | None) -> None:
        """See `Contest`."""
        if gpu is None:
            raise MeasurementError(
                f"{self.terms.a}: there is no GPU here that torch can use, and a time in Triton's "
                "interpreter says nothing"
            )
        require_covering(self.terms.arms)

    def head(self) -> list[str]:
        """See `Contest`."""
        shown = self.terms.shown_arms()
        lines = [
            line
            for side, sources in self.sources.items()
            for line in (f"{side}: {shown[side]}", f"   {sources[:16]} sources")
        ]
        return [*lines, *(f"control: {arm} on {arm.case_name}" for arm in self.terms.control_arms)]

    def arms(self) -> Mapping[str, Mapping[str, Any]]:
        """See `Contest`."""
        return {
            side: {"subject": arm.subject, "arm": arm.arm, "case": arm.case, "sources": self.sources[side]}
            for side, arm in self.terms.sides.items()
        }

    def events(self) -> Iterator[Warmed | Pair | Spoiled | Comparison]:
        """See `Contest`."""
        plan = self.terms
        yield Warmed()  # the worker warms them up by itself
        windows = timed_windows(window_plan(plan), plan.most_windows, plan.timeout)
        yield from decide(plan, pairs_of(plan, windows), time.monotonic(), time.monotonic)

    def require_unchanged(self) -> None:
        """See `Contest`."""
        for side, now in _sources(self.terms).items():
            if now != self.sources[side]:
                raise MeasurementError(f"arm {side}: its sources changed while it was measured")


def _sources(plan: SubjectPlan) -> dict[str, str]:
    return {side: arm.sources() for side, arm in plan.sides.items()}
