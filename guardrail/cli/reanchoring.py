"""What ``guardrail reanchor`` measures, judges and writes."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from guardrail import app
from guardrail.adapters.old_builds import OldBuild, old_build
from guardrail.adapters.surroundings import provenance
from guardrail.errors import MeasurementError, UsageError
from guardrail.reanchor.facts import CORRECTNESS_PROBES, MACHINE_PROBES, Facts
from guardrail.reanchor.ledger_rows import ledger_row
from guardrail.reanchor.move_faults import correctness_faults, move_faults, notes, order_faults
from guardrail.reanchor.order import Order
from guardrail.reanchor.plan import evidence_of, move_of, with_slack
from guardrail.reanchor.refusal import RefusedError
from guardrail.reanchor.window_faults import series_faults, window_faults
from guardrail.reanchor.windows import Series, Window, asked_metrics, collect_series
from guardrail.records.report import RunReport
from guardrail.reporters.json import load
from guardrail.spec.guards import LoadedGuard
from guardrail.store.evidence import digest, read_evidence, render, write_evidence
from guardrail.store.guards_editor import Move, move_anchors
from guardrail.store.ledger import DEFAULT_LEDGER, read_begun_ledger
from guardrail.store.ledger_append import append_row
from guardrail.store.ledger_row import Row
from guardrail.store.runs import read_report
from guardrail.workspace import Selection, Workspace, open_workspace


@dataclass(frozen=True, slots=True)
class Request:
    """One command line."""

    guards_file: Path
    guards: tuple[str, ...]
    order: Order
    windows: int
    saved: tuple[Path, ...] = ()
    """Runs that were measured before; measured now where empty."""
    was_red: Path | None = None
    dry_run: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """One anchor that is moved, or would be."""

    series: Series
    old_values: tuple[float | int, ...]
    """What the old build measured beside."""
    evidence: str
    move: Move
    row: Row


@dataclass(frozen=True, slots=True)
class Moved:
    """Everything that was moved, or would be."""

    plans: tuple[Plan, ...]
    before: str
    after: str
    notes: tuple[str, ...]


Measured = tuple[list[tuple[str, RunReport]], list[tuple[str, RunReport]]]
"""The windows of this tree and of the old build, each with what the reader knows it by."""


def reanchor(request: Request, listener: app.ProgressListener) -> Moved:
    """Measure, refuse or move.

    Raises:
        RefusedError: An anchor may not be moved; everything that speaks against it.
        GuardrailError: Something cannot be measured, read or written.
    """
    workspace = _workspace(request)
    order = request.order
    tree = provenance(workspace.folder, workspace.gpu, workspace.knobs())
    _refuse(list(order_faults(order, tree, os.environ)))
    chosen = [_guard(workspace, name) for name in request.guards]
    asked = {loaded.guard.id: frozenset(asked_metrics(loaded, order)) for loaded in chosen}
    _require_machine(workspace, request, chosen)
    correctness = _correctness(workspace, request, listener)
    new, old = _saved(request) if request.saved else _measure(request, listener)
    by_guard = [(loaded, _windows(loaded, new), _windows(loaded, old)) for loaded in chosen]
    devices = workspace.profiles.devices
    series = [
        with_slack(each, order.slack)
        for loaded, windows, _ in by_guard
        for each in collect_series(loaded, windows, order, devices)
    ]
    beside = {
        each.name: each
        for loaded, _, windows in by_guard
        for each in collect_series(loaded, windows, order, devices)
    }
    facts = Facts(
        provenance=tree,
        subject_hashes={job.loaded.guard.id: job.subject_hash for job in workspace.jobs()},
        correctness=correctness.guards if correctness else (),
        was_red=read_report(request.was_red) if request.was_red else None,
        old_hashes={each.name: _old_hashes(workspace.folder, each, beside) for each in series},
    )
    _refuse(
        [
            *correctness_faults(order, facts),
            *(
                fault
                for loaded, windows, _ in by_guard
                for fault in window_faults(windows, asked[loaded.guard.id], facts)
            ),
            *_missing(by_guard, asked, series, beside, order),
            *(fault for each in series for fault in series_faults(each)),
            *(fault for each in series for fault in move_faults(each, order, facts, _values(each, beside))),
        ]
    )
    ledger = workspace.folder / DEFAULT_LEDGER
    read_begun_ledger(ledger)  # one that no row can be added to is refused before anything is written
    plans = [_plan(request, each, beside.get(each.name), facts, workspace.folder) for each in series]
    moves = [plan.move for plan in plans]
    before, after = move_anchors(request.guards_file, moves, write=not request.dry_run)
    for plan in plans if not request.dry_run else ():
        append_row(ledger, plan.row)
    return Moved(tuple(plans), before, after, tuple(notes(facts)))


def _workspace(request: Request) -> Workspace:
    profile = _device(request, open_workspace(Selection(request.guards_file)))
    required = () if profile is None else (profile,)
    return open_workspace(Selection(request.guards_file, request.guards, profile, required))


def _device(request: Request, workspace: Workspace) -> str | None:
    """Measure for the profile that is asked for where it is a device's."""
    profile = request.order.profile
    if profile is not None and profile not in workspace.profiles.names():
        raise UsageError(f"--profile {profile}: no architecture, device or model profile has this name")
    return profile if profile in workspace.profiles.devices else None


def _guard(workspace: Workspace, name: str) -> LoadedGuard:
    for loaded in workspace.guards:
        if loaded.guard.id == name:
            return loaded
    raise UsageError(f"{name!r} is the id of no guard; name each guard whose anchors are to be moved")


def _require_machine(workspace: Workspace, request: Request, chosen: Sequence[LoadedGuard]) -> None:
    """Refuse to measure another machine than this one."""
    names = [loaded.guard.id for loaded in chosen if loaded.guard.probe in MACHINE_PROBES]
    absent = workspace.absent_profiles()
    if absent and names and not request.saved:
        present = workspace.gpu.name if workspace.gpu else "no GPU"
        raise MeasurementError(
            f"--profile {absent[0]}: this machine is not it (it has {present}), so {', '.join(names)} "
            "cannot be measured for it; run reanchor there, or give runs from there with --from"
        )


def _correctness(workspace: Workspace, request: Request, listener: app.ProgressListener) -> RunReport | None:
    """Check every other guard that says whether the engine is right."""
    names = tuple(
        loaded.guard.id
        for loaded in workspace.guards
        if loaded.guard.probe in CORRECTNESS_PROBES and loaded.guard.id not in request.guards
    )
    selection = Selection(request.guards_file, names, debug=request.debug)
    return app.check(selection, listener) if names else None


def _saved(request: Request) -> Measured:
    texts = [path.read_bytes() for path in request.saved if path.is_file()]
    if len(set(texts)) < len(texts):
        raise UsageError("--from: two of these files are the same run; give several")
    return [(str(path), read_report(path)) for path in request.saved], []


def _measure(request: Request, listener: app.ProgressListener) -> Measured:
    """Measure every window anew; with an old build in turns, each of them first as often as second."""
    workspace = _workspace(request)
    selection = Selection(
        request.guards_file, request.guards, workspace.selection.profile, fresh=True, debug=request.debug
    )
    new: list[tuple[str, RunReport]] = []
    old: list[tuple[str, RunReport]] = []
    with _opened(request) as build:
        for number in range(1, request.windows + 1):
            for which in ("new", "old") if number % 2 else ("old", "new"):
                if which == "new":
                    new.append((f"window {number}", app.check(selection, listener)))
                elif build is not None:
                    old += _measure_old(build, request, f"window {number} of the old build")
    return new, old


def _opened(request: Request) -> contextlib.AbstractContextManager[OldBuild | None]:
    if request.order.against is None:
        return contextlib.nullcontext()
    return old_build(request.order.against, request.guards_file)


def _measure_old(build: OldBuild, request: Request, source: str) -> Iterator[tuple[str, RunReport]]:
    for guard in request.guards:
        yield source, load(build.measure(guard), f"{source}, {guard}")


def _windows(loaded: LoadedGuard, runs: Sequence[tuple[str, RunReport]]) -> list[Window]:
    """Pick one guard's results; a run without any tells nothing of it."""
    return [
        Window(source, result, run.provenance)
        for source, run in runs
        for result in run.guards
        if result.id == loaded.guard.id
    ]


def _missing(
    by_guard: Sequence[tuple[LoadedGuard, list[Window], list[Window]]],
    asked: Mapping[str, frozenset[str]],
    series: Sequence[Series],
    beside: Mapping[str, Series],
    order: Order,
) -> Iterator[str]:
    """Find guards of which nothing was measured, and windows in which the old build measured nothing."""
    for loaded, windows, old in by_guard:
        if not windows:
            yield f"{loaded.guard.id}: no run holds a result for it; measure it"
        elif not any(each.loaded.guard.id == loaded.guard.id for each in series):
            reasons = dict.fromkeys(item.reason for each in windows for item in each.result.unmeasured)
            why = "; ".join(reasons) or _elsewhere(windows, asked[loaded.guard.id], order)
            yield f"{loaded.guard.id}: nothing that is asked for was measured: {why}"
        for window in old:
            for item in window.result.unmeasured:
                yield f"{loaded.guard.id}, {window.source}: {item.reason}; make the old build measurable"
    for each in series if order.against else ():
        if len(_values(each, beside)) != len(each.values):
            yield f"{each.name}: the old build did not measure it in every window; make it measurable there"


def _elsewhere(windows: Sequence[Window], asked: frozenset[str], order: Order) -> str:
    """Say at which places a guard was measured, of which none is the one that is asked for."""
    if order.profile is None:
        return "see 'guardrail check'"
    measured = (item for each in windows for item in each.result.measurements if item.metric in asked)
    places = {name for item in measured for name in item.where.values()}
    return f"--profile {order.profile} is none of its places ({', '.join(sorted(places)) or 'it has none'})"


def _values(series: Series, beside: Mapping[str, Series]) -> tuple[float | int, ...]:
    return beside[series.name].values if series.name in beside else ()


def _old_hashes(folder: Path, series: Series, beside: Mapping[str, Series]) -> frozenset[str]:
    windows = beside[series.name].windows if series.name in beside else ()
    hashes = [window.result.subject_hash for window in windows]
    if series.old is not None:
        hashes += [window.subject_hash for window in read_evidence(folder, series.old.evidence).windows]
    return frozenset(each for each in hashes if each is not None)


def _plan(request: Request, series: Series, old: Series | None, facts: Facts, folder: Path) -> Plan:
    """Write the evidence first: a guards file never names what is not there."""
    pairs = list(zip(old.windows, old.measurements, strict=True)) if old else []
    evidence = evidence_of(series, request.order, facts, pairs, date.today().isoformat())
    name = digest(render(evidence)) if request.dry_run else write_evidence(folder, evidence)
    old_values = old.values if old else ()
    return Plan(
        series,
        old_values,
        name,
        move_of(series, evidence, name, request.order.slack),
        ledger_row(series, evidence, name, old_values),
    )


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise RefusedError(faults)
