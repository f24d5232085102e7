"""The composition root of a run: what `guardrail check` does, from a selection to a report."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import guardrail
from guardrail import registry
from guardrail.adapters.machine import diagnose
from guardrail.adapters.surroundings import provenance
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.engine import Finished, Job, Progress, run
from guardrail.reanchor.toolchain import toolchain
from guardrail.records.doctor import Diagnosis
from guardrail.records.report import GuardResult, RunReport
from guardrail.rules.anchors import Today, review_anchors
from guardrail.rules.environment import debugged, in_one_sentence, misspelt, review_environment, switched
from guardrail.selftest import run_controls
from guardrail.spec.profile_files import load_profiles
from guardrail.store.runs import judge_again
from guardrail.workspace import Selection, Workspace, known_knobs, open_workspace

ProgressListener = Callable[[Progress], None]


def check(selection: Selection, on_progress: ProgressListener) -> RunReport:
    """Measure and judge the selected guards."""
    workspace = open_workspace(selection)
    measured = _report(
        workspace, lambda jobs: run(jobs, workspace.runner(), workspace.context()), on_progress
    )
    return _reviewed(workspace, measured)


def self_test(selection: Selection, on_progress: ProgressListener) -> RunReport:
    """Run the negative controls of the selected guards."""
    workspace = open_workspace(selection)
    return _report(
        workspace,
        lambda jobs: run_controls(jobs, workspace.runner(), workspace.context(), workspace.subject),
        on_progress,
    )


def check_saved(selection: Selection, saved: Path) -> RunReport:
    """Judge a saved report by the bounds of the guards file as it is now."""
    workspace = open_workspace(selection)
    judged = judge_again(saved, workspace.jobs(), str(selection.guards_file))
    return _reviewed(workspace, judged)


def doctor(guards_file: Path) -> Diagnosis:
    """Examine this machine, by the device profiles beside a guards file, be it there or not, and the shipped.

    Raises:
        ConfigurationError: Profiles are wrong.
    """
    profiles = load_profiles(guards_file, frozenset(ARCHITECTURES))
    return diagnose(profiles.devices.values(), known_knobs(registry.families()))


def _report(
    workspace: Workspace,
    events: Callable[[list[Job]], Iterator[Progress | Finished]],
    on_progress: ProgressListener,
) -> RunReport:
    """Drain a run's events into a report, in the order of the guards file."""
    start = time.perf_counter()
    begun = provenance(workspace.folder, workspace.gpu, workspace.knobs())
    absent = workspace.absent_profiles()
    jobs = workspace.jobs()
    results: dict[int, GuardResult] = {}
    for event in events(jobs):
        if isinstance(event, Progress):
            on_progress(event)
        else:
            results[event.position] = event.result
    return RunReport(
        guards_file=str(workspace.selection.guards_file),
        guards=tuple(results[position] for position in range(len(jobs))),
        provenance=begun,
        version=guardrail.__version__,
        seconds=time.perf_counter() - start,
        absent_profiles=absent,
        warnings=(
            *map(in_one_sentence, (*debugged(begun), *misspelt(begun.knobs, workspace.known_knobs()))),
            *switched(begun.knobs, workspace.family_knobs()),
        ),
    )


def _reviewed(workspace: Workspace, report: RunReport) -> RunReport:
    """Add to each guard's result what a reader should know of its anchors and of the environment."""
    today = Today(date.today(), toolchain(report.provenance), workspace.selection.strict)
    pairs = zip(workspace.selected(), report.guards, strict=True)
    return replace(
        report,
        guards=tuple(
            review_environment(review_anchors(loaded, result, today), report.provenance)
            for loaded, result in pairs
        ),
    )
