"""Comparing two arms of operations by the windows of one timing session."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from guardrail.ab.arm import Side
from guardrail.ab.comparison import Pair, Run, Spoiled
from guardrail.ab.terms import Terms, require_decisive
from guardrail.adapters.subject_arms import SubjectArm, TimedWindow
from guardrail.errors import UsageError
from guardrail.probes.timing_session import COLD, HOT, Place, TimedArm, WindowPlan
from guardrail.spec.suggest import did_you_mean

TIMES = ("time", "span")
METRICS = tuple(f"{cache}_{time}" for cache in (COLD, HOT) for time in TIMES)
"""What a window gives of each arm; the terms are those of the timing probe."""
RELATIVE_ERROR = 1e-3
_UNIT = "us"
_MOST_TRIED = 3
"""Windows that are tried at most for each pair that is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPlan(Terms):
    """A comparison of two arms of operations; the controls are arms too."""

    a: SubjectArm
    b: SubjectArm
    control_arms: tuple[SubjectArm, ...] = ()
    relative_error: float = RELATIVE_ERROR
    """Largest accepted error of the timed outputs."""
    timeout: float = 600.0
    """Seconds after which a window is given up."""

    @property
    def sides(self) -> dict[Side, SubjectArm]:
        """The two arms by side."""
        return {"A": self.a, "B": self.b}

    @property
    def arms(self) -> tuple[SubjectArm, ...]:
        """Every arm that is timed."""
        return (self.a, self.b, *self.control_arms)

    @property
    def most_windows(self) -> int:
        """Windows that are tried at most."""
        return _MOST_TRIED * self.pairs

    def shown_arms(self) -> dict[str, str]:
        """See `Terms.shown_arms`."""
        return {side: f"{arm} on {arm.case_name}" for side, arm in self.sides.items()}

    def shown_metric(self) -> str:
        """See `Terms.shown_metric`."""
        return f"{self.metric} ({_UNIT})"

    def conditions(self) -> Mapping[str, str]:
        """See `Terms.conditions`."""
        return {"largest relative error": f"{self.relative_error:g}"}


def require_sound_subjects(plan: SubjectPlan) -> None:
    """Refuse arms that cannot be compared, and terms that could not decide anything.

    Raises:
        UsageError: They are one and the same, compute different cases, or the terms decide nothing.
    """
    if plan.metric not in METRICS:
        raise UsageError(
            f"--metric {plan.metric}: an arm of an operation has no such metric"
            f"{did_you_mean(plan.metric, METRICS)}"
        )
    require_decisive(plan)
    same = _identity(plan.a) == _identity(plan.b)
    if same and not plan.self_compare:
        raise UsageError(
            "the arms are one and the same: equal sources, arm and case; --self-compare measures that"
        )
    if plan.self_compare and not same:
        raise UsageError(
            "--self-compare compares an arm with itself, and these differ; leave --b and --b-case out"
        )
    for axis, a in plan.a.case.items():
        b = plan.b.case.get(axis, a)
        if a != b:
            raise UsageError(
                f"the arms have different work: {axis} is {a} in A, {b} in B; only like can be compared"
            )
    for control in plan.control_arms:
        if _identity(control) in (_identity(plan.a), _identity(plan.b)):
            raise UsageError(
                f"--control {control}: it is one of the compared arms; name one that must not move"
            )


def window_plan(plan: SubjectPlan) -> WindowPlan:
    """Plan a window: both arms cold and hot, and the controls beside each of them."""
    return WindowPlan(
        timed=tuple(
            TimedArm(
                slot.arm.operation,
                f"{slot.side} on {slot.arm.case_name}",
                slot.arm.case,
                slot.arm.arm,
                slot.cache,
            )
            for slot in _slots(plan)
        ),
        relative_error=plan.relative_error,
    )


def pairs_of(plan: SubjectPlan, windows: Iterator[TimedWindow]) -> Iterator[Pair | Spoiled]:
    """Turn windows into pairs of runs: what each side's arms took, beside each other."""
    number = 0
    for timed in windows:
        if timed.spoilers:
            yield Spoiled(timed.spoilers[0])
            continue
        number += 1
        yield Pair(number, "B" if timed.reversed else "A", a=_run(plan, "A", timed), b=_run(plan, "B", timed))


@dataclass(frozen=True, slots=True)
class _Slot:
    """One place of a window."""

    side: Side
    arm: SubjectArm
    cache: str
    is_control: bool


def _slots(plan: SubjectPlan) -> list[_Slot]:
    judged = plan.metric.partition("_")[0]
    slots: list[_Slot] = []
    for side, arm in plan.sides.items():
        slots += [_Slot(side, arm, cache, is_control=False) for cache in (COLD, HOT)]
        slots += [_Slot(side, control, judged, is_control=True) for control in plan.control_arms]
    return slots


def _run(plan: SubjectPlan, side: Side, timed: TimedWindow) -> Run:
    values: dict[str, float] = {}
    notes: dict[str, str | int] = {"seed": timed.seed}
    for at, slot in enumerate(_slots(plan)):
        if slot.side != side:
            continue
        taken = dict(zip(TIMES, (timed.window.busy_us[at], timed.window.span_us[at]), strict=True))
        if slot.is_control:
            values[str(slot.arm)] = taken[plan.metric.partition("_")[2]]
        else:
            values |= {f"{slot.cache}_{time}": value for time, value in taken.items()}
            notes |= _facts(timed.places[at])
    return Run(values, dict.fromkeys(values, _UNIT), seconds=timed.seconds, notes=notes)


def _facts(place: Place) -> dict[str, str | int]:
    """Say what a call launched, and what that takes of an SM."""
    counts = {"registers": place.registers, "shared_bytes": place.shared_bytes}
    stated = {name: count for name, count in counts.items() if count is not None}
    return {"launches": " ".join(place.launches), **stated}


def _identity(arm: SubjectArm) -> tuple[object, ...]:
    return (arm.sources(), arm.arm, tuple(sorted(arm.case.items())))
