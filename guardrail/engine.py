"""The engine: guards -> probes -> measurements -> rules -> results, as a generator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

from guardrail.errors import GuardrailError
from guardrail.probes.interface import Context, Measured, Measuring, Probe
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.report import GuardResult
from guardrail.records.task import Done, Outcome, Task
from guardrail.rules.bounds import judge
from guardrail.spec.guards import LoadedGuard

Span = tuple[float, float]
"""When something began and ended, in seconds of one clock."""


class Runner(Protocol):
    """Runs tasks somewhere else."""

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        """Run tasks in any order, yielding each one's position and outcome as it ends."""


@dataclass(frozen=True, slots=True)
class Job:
    """A guard with the probe that measures its subject."""

    loaded: LoadedGuard
    probe: Probe[Any]
    subject: Any
    subject_hash: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the tasks known so far have come."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Finished:
    """One job's result."""

    position: int
    """Place of the job among those given."""
    result: GuardResult
    spans: tuple[Span, ...] = ()
    """When the job's tasks ran."""


@dataclass(slots=True)
class _Active:
    """A job whose probe is at work."""

    position: int
    job: Job
    measuring: Measuring
    tasks: Sequence[Task] = ()
    measured: Measured | None = None
    spans: list[Span] = field(default_factory=list)
    ran: int = 0
    cached: int = 0

    def advance(self, outcomes: Sequence[Outcome] | None) -> None:
        """Send outcomes to the probe and take its next tasks, or what it measured."""
        for outcome in outcomes or ():
            self.ran += 1
            if isinstance(outcome, Done):
                self.cached += outcome.cached
        try:
            self.tasks = next(self.measuring) if outcomes is None else self.measuring.send(outcomes)
        except StopIteration as stop:
            self.measured = stop.value or ()
        except GuardrailError as error:
            self.measured = [Unmeasured(str(error))]
        except Exception as error:  # noqa: BLE001 - anyone's probe may raise anything; it ends this guard alone
            reason = f"probe {self.job.loaded.guard.probe} raised {type(error).__name__}: {error}"
            self.measured = [Unmeasured(reason)]

    def finished(self) -> Finished:
        """Judge what was measured."""
        guard, measured = self.job.loaded.guard, self.measured or []
        result = GuardResult(
            id=guard.id,
            title=guard.title,
            probe=guard.probe,
            subject=guard.subject,
            line=self.job.loaded.line,
            verdicts=tuple(judge(self.job.loaded, measured)),
            measurements=tuple(item for item in measured if isinstance(item, Measurement)),
            unmeasured=tuple(item for item in measured if isinstance(item, Unmeasured)),
            subject_hash=self.job.subject_hash,
            seconds=covered(self.spans),
            cached=self.ran > 0 and self.cached == self.ran,
        )
        return Finished(self.position, result, tuple(self.spans))


def covered(spans: Sequence[Span]) -> float:
    """Sum the time that spans cover, once where several overlap, in seconds."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def run(jobs: Sequence[Job], runner: Runner, context: Context) -> Iterator[Progress | Finished]:
    """Measure and judge every job, round by round, so that tasks of different guards share the workers.

    Args:
        jobs: Guards with their probes and subjects.
        runner: Where tasks run.
        context: The run's surroundings, handed to every probe.

    Yields:
        Progress after each task, and each guard's result as soon as it is known.
    """
    active = [
        _Active(position, job, job.probe.measure(job.loaded.guard, job.subject, context))
        for position, job in enumerate(jobs)
    ]
    for each in active:
        each.advance(None)
    done = total = 0
    while True:
        for each in active:
            if each.measured is not None:
                yield each.finished()
        active = [each for each in active if each.measured is None]
        if not active:
            return
        tasks = [task for each in active for task in each.tasks]
        total += len(tasks)
        yield Progress(done, total)
        outcomes: dict[int, Outcome] = {}
        spans: dict[int, Span] = {}
        begun = perf_counter()
        for position, outcome in runner.run(tasks):
            outcomes[position] = outcome
            if isinstance(outcome, Done) and not outcome.cached:
                # Not before this round: another guard's task may have given the outcome in an earlier one.
                ended = perf_counter()
                spans[position] = (max(begun, ended - outcome.seconds), ended)
            done += 1
            yield Progress(done, total)
        position = 0
        for each in active:
            own = range(position, position + len(each.tasks))
            each.spans += [spans[index] for index in own if index in spans]
            each.advance([outcomes[index] for index in own])
            position = own.stop
