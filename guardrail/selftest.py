"""Negative controls: every bound must be seen to turn red before its guard is trusted."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from guardrail.engine import Finished, Job, Progress, Runner, covered, run
from guardrail.families import Control
from guardrail.probes.interface import Context
from guardrail.records.report import GuardResult
from guardrail.records.verdict import Status, Verdict


@dataclass(frozen=True, slots=True)
class _Planned:
    """One control to run for one guard."""

    job: Job
    control: Control[Any]


def run_controls(
    jobs: Sequence[Job], runner: Runner, context: Context, resolve: Callable[[str, tuple[type, ...]], Any]
) -> Iterator[Progress | Finished]:
    """Run every guard against its negative controls.

    A guard passes when each metric it bounds was turned red by at least one control, and every control turned
    red what it promises to.

    Args:
        jobs: The guards as they would be checked.
        runner: Where tasks run.
        context: The run's surroundings.
        resolve: Finds the subject, of some kinds, that a guard's own ``control`` key names.

    Yields:
        Progress, then one result for each guard.
    """
    planned = [_Planned(job, control) for job in jobs for control in _controls(job, resolve)]
    mutated = [
        replace(
            item.job,
            loaded=replace(item.job.loaded, guard=item.job.probe.narrowed(item.job.loaded.guard, context)),
            subject=item.control.mutant,
        )
        for item in planned
    ]
    finished: dict[int, Finished] = {}
    for event in run(mutated, runner, context):
        if isinstance(event, Progress):
            yield event
        else:
            finished[event.position] = event
    for position, job in enumerate(jobs):
        own = [(item.control, finished[index]) for index, item in enumerate(planned) if item.job is job]
        yield Finished(position, _verdict_on(job, own))


def _controls(job: Job, resolve: Callable[[str, tuple[type, ...]], Any]) -> list[Control[Any]]:
    """List the controls that touch a metric which the guard bounds."""
    guard = job.loaded.guard
    if guard.control is not None:
        named = resolve(guard.control, job.probe.subjects)
        return [Control(guard.control, "named by the guard", named, tuple(guard.require))]
    stated = job.probe.controls(guard, job.subject)
    return [control for control in stated if set(control.turns_red) & set(guard.require)]


def _verdict_on(job: Job, own: Sequence[tuple[Control[Any], Finished]]) -> GuardResult:
    """Judge a guard by how its controls fared."""
    guard, line = job.loaded.guard, job.loaded.line
    promised = {metric for control, _ in own for metric in control.turns_red}
    verdicts = [
        *(_verdict_on_control(job, control, each.result) for control, each in own),
        *(_no_control(job, metric) for metric in guard.require if metric not in promised),
    ]
    return GuardResult(
        id=guard.id,
        title=guard.title,
        probe=guard.probe,
        subject=guard.subject,
        line=line,
        verdicts=tuple(verdicts),
        seconds=covered([span for _, each in own for span in each.spans]),
        cached=bool(own) and all(each.result.cached for _, each in own),
    )


def _verdict_on_control(job: Job, control: Control[Any], result: GuardResult) -> Verdict:
    """Judge a control by whether it turned red what it promises to."""
    line = job.loaded.line
    if result.status is Status.SKIPPED:
        return Verdict(Status.SKIPPED, "not-for-this-machine", result.verdicts[0].sentence, line=line)
    red = {verdict.metric for verdict in result.verdicts if verdict.status is Status.FAIL}
    broken = tuple(verdict.sentence for verdict in result.verdicts if verdict.status is Status.ERROR)
    named = f"control {control.name} ({control.defect})"
    expected = [metric for metric in control.turns_red if metric in job.loaded.guard.require]
    green = ", ".join(metric for metric in expected if metric not in red)
    if green and broken:
        sentence = f"{named} could not be measured, so {green} was not seen to turn red"
        return Verdict(Status.ERROR, "control-not-measured", sentence, evidence=broken, line=line)
    if green:
        return Verdict(Status.FAIL, "control-stayed-green", f"{named} left {green} green", line=line)
    return Verdict(Status.PASS, "control-turned-red", f"{named} turned {', '.join(expected)} red", line=line)


def _no_control(job: Job, metric: str) -> Verdict:
    sentence = f"no control turns {metric} red, so its bound has never been seen to work"
    line = job.loaded.bound_lines.get(metric, job.loaded.line)
    return Verdict(Status.FAIL, "no-control", sentence, metric=metric, line=line)
