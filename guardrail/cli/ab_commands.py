"""``guardrail ab`` with two commands."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guardrail.ab.arm import LoadedFile, Side, changed_variables, loaded_files, require_unchanged, shown
from guardrail.ab.comparison import Comparison, Pair, Spoiled, Warmed
from guardrail.ab.measure import compare
from guardrail.ab.plan import Plan, require_distinct, require_sound
from guardrail.ab.runs import run_arm
from guardrail.adapters.device import Gpu
from guardrail.adapters.private_caches import Caches


@dataclass(frozen=True, slots=True)
class CommandContest:
    """Two commands that differ. See `guardrail.cli.ab_contest.Contest`."""

    terms: Plan
    loaded: Mapping[Side, tuple[LoadedFile, ...]]

    @classmethod
    def of(cls, plan: Plan) -> "CommandContest":
        """Find what the arms load.

        Raises:
            UsageError: The plan decides nothing, a program is missing, or the arms are the same.
        """
        require_sound(plan)
        loaded = {arm.side: loaded_files(arm, plan.shared) for arm in (plan.a, plan.b)}
        require_distinct(plan, loaded["A"], loaded["B"])
        return cls(plan, loaded)

    def require_measurable(self, gpu: Gpu | None) -> None:
        """See `Contest`: a command may need no GPU."""

    def head(self) -> list[str]:
        """See `Contest`."""
        plan = self.terms
        lines = []
        for arm in (plan.a, plan.b):
            lines.append(f"{arm.side}: {shown(arm)}")
            lines += [f"   {file.fingerprint[:16]} {file.path}" for file in self.loaded[arm.side]]
        changed = {arm.side: changed_variables(arm, plan.shared) for arm in (plan.a, plan.b)}
        names = sorted({*changed["A"], *changed["B"]})
        for name in names:
            a, b = (changed[side].get(name, plan.shared.get(name, "unset")) for side in ("A", "B"))
            lines.append(f"environment: {name} is {a} in A, {b} in B")
        rest = " but for these" if names else ""
        return [*lines, f"environment: {len(plan.shared)} variables are equal{rest}"]

    def arms(self) -> Mapping[str, Mapping[str, Any]]:
        """See `Contest`."""
        return {
            arm.side: {
                "command": arm.command,
                "environment": arm.environment,
                "files": {file.path: file.fingerprint for file in self.loaded[arm.side]},
            }
            for arm in (self.terms.a, self.terms.b)
        }

    def events(self) -> Iterator[Warmed | Pair | Spoiled | Comparison]:
        """See `Contest`."""
        with Caches.opened(self.terms.cache) as caches:
            yield from compare(self.terms, lambda arm: run_arm(self.terms, arm, caches))

    def require_unchanged(self) -> None:
        """See `Contest`."""
        for arm in (self.terms.a, self.terms.b):
            require_unchanged(arm, self.loaded[arm.side], self.terms.shared)
