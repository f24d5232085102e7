"""Probe ``command``: any engine, by what a command of the user's measures of it."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardrail.compiled.file_subject import FileSubject
from guardrail.families import Control
from guardrail.probes.command_guard import (
    CONFIDENCE,
    SUBJECT,
    Command,
    CommandGuard,
    Selection,
    words_of,
)
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.memory_rate import believable
from guardrail.records.measurement import Finding, Measurement, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.profiles import DeviceProfile
from guardrail.stats.intervals import NO_INTERVAL, median_interval, samples_needed
from guardrail.stats.paired import ratio_interval
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
        arms = {"subject": _words(command, file.path)}
        if guard.against is not None:
            arms["against"] = _words(guard.command, str(Path(context.folder) / guard.against))
        runs: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
        for run in range(guard.repeat):
            # Taking turns in the order lets what drifts drift for both.
            for arm in arms if run % 2 == 0 else reversed(arms):
                (outcome,) = yield [_task(guard, arms[arm], context.folder, run)]
                if not isinstance(outcome, Done):
                    return [Unmeasured(outcome.reason)]
                runs[arm].append(outcome.value)
        device = _device(context)
        where = {} if device is None else {"profile": device.name}
        return [
            _pair(name, runs["against"], runs["subject"], where)
            if selection.ratio
            else believable(_summarise(name, selection, runs["subject"], where), selection.bytes_each, device)
            for name, selection in guard.metrics.items()
        ]

    def controls(self, guard: CommandGuard, subject: FileSubject) -> Sequence[Control[Any]]:
        """See `Probe.controls`."""
        if guard.control_command is None:
            return ()
        return [Control("control_command", "stated by the guard", ControlRun(subject), tuple(guard.require))]


def _words(command: Command, path: str) -> list[str]:
    return [word.replace(SUBJECT, path) for word in words_of(command)]


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


def _device(context: Context) -> DeviceProfile | None:
    """Give this machine's device profile, which bounds may be keyed by."""
    here = (device for device in context.devices.values() if device.device_name == context.gpu_name)
    return next(here, None)


def _summarise(
    name: str, selection: Selection, runs: Sequence[dict[str, Any]], where: Mapping[str, str]
) -> Measurement | Unmeasured:
    """Reduce a metric's samples in every run to one measurement."""
    found = [run[name] for run in runs]
    unit = selection.unit or found[0]["unit"]
    if copied := _copied(name, found):
        return copied
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


def _pair(
    name: str,
    against: Sequence[dict[str, Any]],
    subject: Sequence[dict[str, Any]],
    where: Mapping[str, str],
) -> Measurement | Unmeasured:
    """Compare a metric's runs with those of the base build beside them."""
    base, own = [run[name] for run in against], [run[name] for run in subject]
    if copied := _copied(name, [*base, *own]):
        return copied
    before, now = ([statistics.median(run["samples"]) for run in runs] for runs in (base, own))
    try:
        low, middle, high = ratio_interval(before, now, CONFIDENCE)
    except ValueError as error:
        return Unmeasured(f"{name}: {error}")
    medians = " and ".join(f"{statistics.median(values):.6g}" for values in (before, now))
    return Measurement(
        metric=name,
        unit="x",
        value=middle,
        where=where,
        samples=tuple(after / first for first, after in zip(before, now, strict=True)),
        interval=(low, high),
        inspected=len(now),
        findings=(Finding(f"{len(now)} pairs of runs, medians {medians} {own[0]['unit']}"),),
    )


def _copied(name: str, runs: Sequence[Mapping[str, Any]]) -> Unmeasured | None:
    replays = find_replays([run["times"] for run in runs])
    if not replays:
        return None
    first = replays[0]
    return Unmeasured(
        f"{name}: run {first.run + 1} repeats run {first.first + 1} time for time, so it is a copy and "
        "no measurement"
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
