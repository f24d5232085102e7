"""Enumerating a gate: what it picks for every case, declared against declared. Runs in a host worker."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from guardrail.errors import MeasurementError
from guardrail.families import Case, Choice, Gate, ModelProfile
from guardrail.probes.references import resolve


@dataclass(frozen=True, slots=True)
class Decision:
    """One case with what the gate picked for it and what that arm declares to cover."""

    case: Case
    label: str
    arm: str
    because: str
    units: int
    covered: int
    faster: str | None
    """The fastest arm that covers the case, where the gate took a slower one."""
    models: tuple[str, ...] = ()


def survey(gate: Gate, models: Sequence[ModelProfile], interpreted: bool) -> dict[str, object]:
    """Ask a gate about every case of its domain and of the models.

    Args:
        gate: The gate to enumerate.
        models: Models whose cases are examined and attributed.
        interpreted: True to leave out of the runs what the gate calls too large for the interpreter.

    Returns:
        Plain data: ``cases`` examined, the decisions that are ``uncovered`` and ``unexplained``, the arms
        ``never_taken``, the model cases that are ``undeclared``, and the ``runs`` to execute.

    Raises:
        MeasurementError: The gate picks an arm that it does not have, or its domain is empty.
    """
    domain = [dict(case) for case in resolve(gate.domain)()]
    if not domain:
        raise MeasurementError(f"gate {gate.name}: its domain {gate.domain} has no cases")
    wanted = _model_cases(gate, models)
    declared = {_key(case) for case in domain}
    extra = [case for key, (case, _) in wanted.items() if key not in declared]
    decide = _Decider(gate, domain + extra, wanted)
    decisions = [decide(case) for case in domain + extra]
    taken = {decision.arm for decision in decisions[: len(domain)]}
    runnable = resolve(gate.executed) if interpreted and gate.executed else lambda case: True
    runs = [
        decision
        for decision in _worth_running(decisions[: len(domain)], decide.full_coverage)
        if runnable(decision.case)
    ]
    return {
        "cases": len(decisions),
        "models": [model.name for model in models],
        "uncovered": [asdict(decision) for decision in decisions if decision.covered < decision.units],
        "unexplained": [asdict(found) for found in decisions if found.faster and not found.because],
        "never_taken": [arm.name for arm in gate.operation.arms if arm.name not in taken],
        "undeclared": [asdict(decision) for decision in decisions[len(domain) :]],
        "runs": [
            asdict(run) for run in _distinct(runs + [d for d in decisions[len(domain) :] if runnable(d.case)])
        ],
    }


class _Decider:
    """Turns a case into a decision, with every reference resolved once."""

    def __init__(
        self, gate: Gate, cases: Sequence[Case], wanted: dict[str, tuple[Case, tuple[str, ...]]]
    ) -> None:
        self._gate = gate
        self._pick: Callable[[Case], Choice] = resolve(gate.pick)
        self._units: Callable[[Case], int] = resolve(gate.operation.units)
        self._covered = {arm.name: resolve(arm.covered_units) for arm in gate.operation.arms}
        self._wanted = wanted
        self._varying = [axis for axis in cases[0] if len({case.get(axis) for case in cases}) > 1] or list(
            cases[0]
        )

    def __call__(self, case: Case) -> Decision:
        choice = self._pick(case)
        if choice.arm not in self._covered:
            known = ", ".join(self._covered)
            raise MeasurementError(
                f"gate {self._gate.name} picks {choice.arm!r}, which is none of its arms ({known})"
            )
        full = self.full_coverage(case)
        faster = full[0] if full and self._rank(full[0]) < self._rank(choice.arm) else None
        _, models = self._wanted.get(_key(case), (case, ()))
        return Decision(
            case=dict(case),
            label=", ".join(_axis_text(axis, case[axis]) for axis in self._varying),
            arm=choice.arm,
            because=choice.because,
            units=self._units(case),
            covered=self._covered[choice.arm](case),
            faster=faster,
            models=models,
        )

    def full_coverage(self, case: Case) -> tuple[str, ...]:
        """Name the arms that cover a case completely, fastest first."""
        units = self._units(case)
        return tuple(arm.name for arm in self._gate.operation.arms if self._covered[arm.name](case) >= units)

    def _rank(self, arm: str) -> int:
        names: list[str] = [known.name for known in self._gate.operation.arms]
        return names.index(arm)


def _model_cases(gate: Gate, models: Sequence[ModelProfile]) -> dict[str, tuple[Case, tuple[str, ...]]]:
    """Collect the models' cases, each with the names of the models that need it."""
    wanted: dict[str, tuple[Case, tuple[str, ...]]] = {}
    for model in models:
        for case in resolve(gate.model_cases)(model):
            _, names = wanted.get(_key(case), (case, ()))
            wanted[_key(case)] = (dict(case), names if model.name in names else (*names, model.name))
    return wanted


def _worth_running(
    decisions: Sequence[Decision], coverage: Callable[[Case], tuple[str, ...]]
) -> list[Decision]:
    """Choose the models' cases, the domain's ends, and both sides of every bound along every ordered axis.

    A bound is where the picked arm changes, or where the set of arms that cover the case completely does. A
    switch has no order, so that turning it is no bound.
    """
    chosen = [decision for decision in decisions if decision.models]
    chosen += [decisions[0], decisions[-1]]
    ordered = [axis for axis, value in decisions[0].case.items() if not isinstance(value, bool | str)]
    for axis in ordered:
        others = [name for name in decisions[0].case if name != axis]
        lines: dict[tuple[object, ...], list[Decision]] = {}
        for decision in decisions:
            lines.setdefault(tuple(decision.case[name] for name in others), []).append(decision)
        for line in lines.values():
            for left, right in itertools.pairwise(line):
                if left.arm != right.arm or coverage(left.case) != coverage(right.case):
                    chosen += [left, right]
    return _distinct(chosen)


def _distinct(decisions: Iterable[Decision]) -> list[Decision]:
    return list({_key(decision.case): decision for decision in decisions}.values())


def _key(case: Case) -> str:
    return repr(sorted(case.items()))


def _axis_text(axis: str, value: object) -> str:
    if isinstance(value, bool):
        return axis if value else f"not {axis}"
    return f"{axis} {value}"
