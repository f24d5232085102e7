"""Probe ``command``: any engine, by what a command of the user's measures of it."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guardrail.compiled.file_subject import FileSubject
from guardrail.families import Control
from guardrail.probes.command_guard import CONFIDENCE, SUBJECT, CommandGuard, Selection, words_of
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.records.measurement import Finding, Measurement, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.stats.intervals import NO_INTERVAL, median_interval, samples_needed
from guardrail.stats.replays import find_replays

_MARGIN_SECONDS = 30.0
"""What a worker has beyond its command's own limit, to kill it and say so."""


@dataclass(frozen=True, slots=True)
class ControlRun:
    """The subject of a guard whose control command is run in place of its command."""

    subject: FileSubject


class CommandProbe(Probe[CommandGuard]):
    """Runs the command over and over, nothing else at the same time, and reads its metrics."""

    guard = CommandGuard
    subjects = (FileSubject,)
    metrics = ()
    names_metrics = True

    def measure(self, guard: CommandGuard, subject: FileSubject | ControlRun, context: Context) -> Measuring:
        """See `Probe.measure`."""
        command, file = guard.command, subject
        if isinstance(file, ControlRun):
            command, file = guard.control_command or command, file.subject
        words = [word.replace(SUBJECT, file.path) for word in words_of(command)]
        runs: list[dict[str, Any]] = []
        for run in range(guard.repeat):
            (outcome,) = yield [_task(guard, words, context.folder, run)]
            if not isinstance(outcome, Done):
                return [Unmeasured(outcome.reason)]
            runs.append(outcome.value)
        where = _place(context)
        return [_summarise(name, selection, runs, where) for name, selection in guard.metrics.items()]

    def controls(self, guard: CommandGuard, subject: FileSubject) -> Sequence[Control[Any]]:
        """See `Probe.controls`."""
        if guard.control_command is None:
            return ()
        return [Control("control_command", "stated by the guard", ControlRun(subject), tuple(guard.require))]


def _task(guard: CommandGuard, words: Sequence[str], folder: str, run: int) -> Task:
    return Task(
        function="guardrail.adapters.command_samples:take_samples",
        arguments={
            "command": words,
            "folder": folder,
            "environment": guard.environment,
            "timeout": guard.timeout_seconds,
            "reader": guard.reader,
            "selectors": {name: selection.selector for name, selection in guard.metrics.items()},
            "workload": guard.workload,
            "run": run,
        },
        environment=Environment.COMMAND,
        timeout=guard.timeout_seconds + _MARGIN_SECONDS,
        reusable=False,
    )


def _place(context: Context) -> dict[str, str]:
    """Name this machine's device profile, which bounds may be keyed by."""
    here = (
        device.name
        for device in context.devices.values()
        if context.gpu_name is not None and device.device_name == context.gpu_name
    )
    profile = next(here, None)
    return {} if profile is None else {"profile": profile}


def _summarise(
    name: str, selection: Selection, runs: Sequence[dict[str, Any]], where: Mapping[str, str]
) -> Measurement | Unmeasured:
    """Reduce a metric's samples in every run to one measurement."""
    found = [run[name] for run in runs]
    unit = selection.unit or found[0]["unit"]
    if replays := find_replays([run["times"] for run in found]):
        first = replays[0]
        return Unmeasured(
            f"{name}: run {first.run + 1} repeats run {first.first + 1} time for time, so it is a copy and "
            "no measurement"
        )
    if selection.exact:
        return _exact(name, unit, [value for run in found for value in run["samples"]], where)
    if len(found) == 1:
        samples, origin = found[0]["samples"], "samples of one run"
    else:
        # What the samples of one run have in common makes them more alike than those of several.
        samples, origin = [statistics.median(run["samples"]) for run in found], "runs, one median each"
    interval = median_interval(samples, CONFIDENCE)
    if interval == NO_INTERVAL:
        needed = samples_needed(CONFIDENCE)
        return Unmeasured(f"{name}: {len(samples)} {origin}, too few for an interval; expected {needed}")
    return Measurement(
        metric=name,
        unit=unit,
        value=statistics.median(samples),
        where=where,
        samples=tuple(samples),
        interval=interval,
        inspected=len(samples),
        findings=(Finding(f"{len(samples)} {origin}: {interval[0]:.6g} to {interval[1]:.6g} {unit}"),),
    )


def _exact(
    name: str, unit: str, values: Sequence[float], where: Mapping[str, str]
) -> Measurement | Unmeasured:
    different = sorted(set(values))
    if len(different) > 1:
        shown = ", ".join(f"{value:g}" for value in different[:4])
        return Unmeasured(f"{name} is stated to be exact, and differs from run to run: {shown}")
    (value,) = different
    return Measurement(name, unit, int(value) if value.is_integer() else value, where, inspected=len(values))
