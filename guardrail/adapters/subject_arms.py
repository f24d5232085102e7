"""Arms of operations, named on the command line as ``family.operation:arm``, and their timed windows."""

import contextlib
import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from guardrail import registry
from guardrail.adapters.subject_calls import chosen_cases
from guardrail.adapters.workers import WorkerPool
from guardrail.errors import MeasurementError, UsageError
from guardrail.families import Case, Operation
from guardrail.probes.references import modules_of
from guardrail.probes.timing_session import Place, Window, WindowPlan
from guardrail.records.task import Done, Environment, Task
from guardrail.sources import combined_hash
from guardrail.spec.suggest import did_you_mean
from guardrail.store.cache import canonical


@dataclass(frozen=True, slots=True)
class SubjectArm:
    """One arm of an operation on one case."""

    subject: str
    """The operation, as the user names it."""
    operation: Operation
    arm: str
    case_name: str
    case: Case

    def __str__(self) -> str:
        """Write it as the command line takes it."""
        return f"{self.subject}:{self.arm}"

    def sources(self) -> str:
        """Hash the operation with all of its authors' code that it depends on, as it is now."""
        return combined_hash(modules_of(self.operation.references), canonical(self.operation))


@dataclass(frozen=True, slots=True)
class TimedWindow:
    """One window of a session."""

    reversed: bool
    """Whether the arms began in the opposite order."""
    places: tuple[Place, ...]
    window: Window
    spoilers: tuple[str, ...]
    """What made it worthless; empty where nothing did."""
    seed: int
    """Seed of the session's inputs."""
    seconds: float
    """What it took, preparations included."""


def find_subject_arm(name: str, case: Sequence[str], option: str) -> SubjectArm:
    """Find an arm and its case.

    Args:
        name: ``family.operation:arm`` or ``module:family.operation:arm``.
        case: The name of a timed case and ``axis=value``, which changes an axis of it.
        option: The option that named it, for messages.

    Raises:
        UsageError: There is no such operation, arm or case.
    """
    if str(Path.cwd()) not in sys.path:
        # A user's family is imported by name from where the command is given.
        sys.path.insert(0, str(Path.cwd()))
    subject, colon, arm = name.rpartition(":")
    if not colon or not arm or "." in arm:
        raise UsageError(
            f"{option} {name}: with --case an arm is named as family.operation:arm "
            "(module:family.operation:arm for your own)"
        )
    operation = registry.find_subject(subject, registry.families(), (Operation,))
    assert isinstance(operation, Operation)
    arms = [each.name for each in operation.arms]
    if arm not in arms:
        raise UsageError(
            f"{option} {name}: operation {operation.name} has no arm {arm!r}{did_you_mean(arm, arms)}"
        )
    (chosen,) = chosen_cases(operation, case)
    return SubjectArm(subject, operation, arm, " ".join(case), chosen)


def require_covering(arms: Sequence[SubjectArm]) -> None:
    """Refuse arms that leave work of their case undone.

    Raises:
        UsageError: One does.
        MeasurementError: What it covers cannot be computed.
    """
    tasks = [
        Task(
            "guardrail.probes.timing:covering_arms",
            {"operation": each.operation, "cases": {each.case_name: each.case}},
            Environment.HOST,
        )
        for each in arms
    ]
    for position, outcome in WorkerPool([str(Path.cwd())], 1, interpreted=False).run(tasks):
        each = arms[position]
        if not isinstance(outcome, Done):
            raise MeasurementError(f"{each}: {outcome.reason}")
        covering = outcome.value[each.case_name]
        if each.arm not in covering:
            raise UsageError(
                f"{each} does not cover case {each.case_name} completely; "
                f"these arms do: {', '.join(covering) or 'none'}"
            )


def timed_windows(plan: WindowPlan, most: int, timeout: float) -> Iterator[TimedWindow]:
    """Measure windows of a plan in one worker process, each when it is asked for.

    Args:
        plan: What every window times.
        most: Windows to measure at most.
        timeout: Seconds after which a window, the first with what it compiles, is given up.

    Raises:
        MeasurementError: An arm is wrong, hangs or faults, or the profiler lost a launch.
    """
    task = Task(
        "guardrail.adapters.subject_windows:measure_window",
        {"plan": plan, "session": secrets.token_hex(8)},
        Environment.EXECUTE,
        timeout=timeout,
        reusable=False,
    )
    pool = WorkerPool([str(Path.cwd())], 1, interpreted=False)
    with contextlib.closing(pool.run([task] * most)) as outcomes:  # type: ignore[type-var]
        for _, outcome in outcomes:
            if not isinstance(outcome, Done):
                raise MeasurementError(outcome.reason)
            value = outcome.value
            yield TimedWindow(
                reversed=value["reversed"],
                places=tuple(Place.from_plain(place) for place in value["places"]),
                window=Window.from_plain(value["window"]),
                spoilers=tuple(value["spoilers"]),
                seed=value["seed"],
                seconds=outcome.seconds,
            )
