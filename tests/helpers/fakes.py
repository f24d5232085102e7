"""A probe, a runner and a cache key that do what a test tells them, and the guards to use them with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from guardrail.engine import Finished, Job, Progress
from guardrail.probes.interface import Context, Measured, Measuring, Probe
from guardrail.records.measurement import Measurement, Metric
from guardrail.records.report import GuardResult
from guardrail.records.task import Done, Environment, Failed, Outcome, Task
from guardrail.spec.guards import Bound, Guard, LoadedGuard

CONTEXT = Context(models={}, device=None, interpreted=True)

Conclusion = Callable[[Sequence[Sequence[Outcome]]], Measured]


def fake_task(name: str, **arguments: Any) -> Task:
    """Make a task that only a `FakeRunner` can run."""
    return Task(f"fake:{name}", arguments, Environment.HOST)


class FakeRunner:
    """Answers tasks by their function's name, last task first.

    Args:
        answers: Outcomes by name; a task without one is done with its name as the value.
    """

    def __init__(self, answers: Mapping[str, Outcome] | None = None) -> None:
        self.answers = dict(answers or {})
        self.batches: list[list[str]] = []

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        """See `guardrail.engine.Runner.run`."""
        names = [task.function.partition(":")[2] for task in tasks]
        self.batches.append(names)
        for position, name in reversed(list(enumerate(names))):
            yield position, self.answers.get(name, Done(name, 1.0))


def counted(outcomes: Sequence[Sequence[Outcome]]) -> Measured:
    """Measure how many outcomes failed, over all rounds."""
    failed = sum(isinstance(outcome, Failed) for batch in outcomes for outcome in batch)
    return [Measurement("failures", "tasks", failed)]


class ScriptedProbe(Probe[Guard]):
    """Asks for given rounds of tasks.

    Args:
        rounds: Names of the tasks of each round.
        conclude: Turns the outcomes of all rounds into what was measured.
        raises: Raised after the last round, instead of measuring anything.
    """

    guard = Guard
    subjects = (str,)
    metrics = (Metric("failures", "tasks", "Tasks that failed."),)

    def __init__(
        self,
        *rounds: Sequence[str],
        conclude: Conclusion = counted,
        raises: Exception | None = None,
    ) -> None:
        self._rounds = rounds
        self._conclude = conclude
        self._raises = raises
        self.seen: list[list[Outcome]] = []

    def measure(self, guard: Guard, subject: Any, context: Context) -> Measuring:
        """See `Probe.measure`."""
        for names in self._rounds:
            outcomes = yield [fake_task(name, subject=subject) for name in names]
            self.seen.append(list(outcomes))
        if self._raises is not None:
            raise self._raises
        return self._conclude(self.seen)


class SubjectProbe(Probe[Guard]):
    """Measures what its subject says: a mapping from metric to value."""

    guard = Guard
    subjects = (object,)
    metrics = (Metric("dropped", "units", "Units dropped."), Metric("doubled", "units", "Units doubled."))

    def measure(self, guard: Guard, subject: Any, context: Context) -> Measuring:
        """See `Probe.measure`."""
        yield [fake_task("look")]
        found = subject.found if hasattr(subject, "found") else subject
        return list(found)


def loaded_guard(
    require: Mapping[str, Mapping[str, Any]], name: str = "guard", line: int = 3, **keys: Any
) -> LoadedGuard:
    """Make a guard with bounds on lines of their own, from ``line + 5`` on."""
    bounds = {metric: Bound(**bound) for metric, bound in require.items()}
    stated = {"probe": "fake", "subject": "tiny.gate"} | keys
    guard = Guard(id=name, title=f"{name} holds", require=bounds, **stated)
    return LoadedGuard(guard, line, {metric: line + 5 + at for at, metric in enumerate(require)})


def fake_job(
    probe: Probe[Any], name: str = "guard", subject: Any = "subject", subject_hash: str = "cafe", **keys: Any
) -> Job:
    """Make a job whose guard accepts no failures."""
    require = keys.pop("require", {"failures": {"equals": 0}})
    return Job(loaded_guard(require, name, **keys), probe, subject, subject_hash)


def split(
    events: Iterator[Progress | Finished],
) -> tuple[list[tuple[int, int]], dict[int, GuardResult]]:
    """Separate a run's events into the progress that it made and its results by position."""
    progress: list[tuple[int, int]] = []
    results: dict[int, GuardResult] = {}
    for event in events:
        if isinstance(event, Progress):
            progress.append((event.done, event.total))
        else:
            results[event.position] = event.result
    return progress, results
