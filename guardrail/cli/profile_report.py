"""What ``guardrail profile`` reads, prints and writes."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from guardrail.adapters.profile_targets import TargetRequest, profile_target
from guardrail.adapters.profilers import read_report
from guardrail.cli.options import DEFAULT_GUARDS
from guardrail.cli.profile_figures import Target
from guardrail.cli.profile_json import changes_to_json, plain_row
from guardrail.cli.profile_plot import check_plot_file, write_plot
from guardrail.cli.profile_table import print_changes, print_headline, print_rows
from guardrail.compiled.architectures import ARCHITECTURES, require_arch
from guardrail.errors import NothingReadError, UsageError
from guardrail.records.launch import Trace
from guardrail.spec.profile_files import load_profiles
from guardrail.spec.profiles import DeviceProfile
from guardrail.spec.suggest import did_you_mean
from guardrail.traces.compare import TraceChange, compare_rows
from guardrail.traces.saved import to_json
from guardrail.traces.summary import GroupBy, Row, summarise

_PIPE_WIDTH = 100


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What to show of a trace."""

    group_by: str
    kernel: str
    top: int
    counters: tuple[str, ...]
    compare: Path | None
    arch: str | None
    device: str | None
    plot: Path | None
    as_json: bool


def report_profile(target: TargetRequest, request: ReportRequest) -> None:
    """Profile the target and show it, by itself or against an older report.

    Raises:
        UsageError: An option asks for what cannot be.
        NothingReadError: No name matches ``--kernel``.
    """
    # Everything that can be wrong with the command line is said before a long run.
    group_by, device = _group_by(request.group_by), _device(request.device)
    _check_pattern(request.kernel)
    if request.compare is not None and request.counters:
        raise UsageError("--counters: a comparison (--compare) shows times alone; leave one of them out")
    if request.arch is not None:
        require_arch(request.arch)
    if request.plot is not None:
        check_plot_file(request.plot)
    other = None if request.compare is None else read_report(request.compare)
    trace = profile_target(target)
    gpu = Target(request.arch or (device.arch if device else trace.arch), device)
    rows = summarise(trace, group_by, request.kernel)
    changes = None if other is None else compare_rows(summarise(other, group_by, request.kernel), rows)
    _require(rows if changes is None else changes, trace, request.kernel)
    _require_counters(rows, request.counters, trace)
    # Before anything is printed: a reader may leave after the first line.
    if request.plot is not None:
        write_plot(request.plot, rows[: request.top or None], trace)
    if other is None or changes is None:
        _show_rows(rows, trace, gpu, request)
    else:
        _show_changes(changes, other, trace, request)


def _show_rows(rows: Sequence[Row], trace: Trace, target: Target, request: ReportRequest) -> None:
    if request.as_json:
        sys.stdout.writelines((to_json(trace, [plain_row(row, target) for row in rows]), "\n"))
        return
    console = _console()
    print_headline(trace, console)
    shown = rows[: request.top or None]
    print_rows(shown, target, request.counters, console, len(rows) - len(shown))


def _show_changes(changes: Sequence[TraceChange], old: Trace, new: Trace, request: ReportRequest) -> None:
    if request.as_json:
        sys.stdout.writelines((changes_to_json(changes, old, new), "\n"))
        return
    console = _console()
    before, after = (", ".join(filter(None, (it.tool, it.device))) for it in (old, new))
    if before != after:
        console.print(f"before: {before}; after: {after}", highlight=False, markup=False)
    print_changes(changes, request.top or None, console)


def _require(found: Sequence[object], trace: Trace, kernel: str) -> None:
    if not found:
        raise NothingReadError(f"{trace.source}: no kernel's name matches {kernel!r}")


def _require_counters(rows: Sequence[Row], counters: Sequence[str], trace: Trace) -> None:
    known = {name for row in rows for name in row.counters}
    for name in counters:
        if name not in known:
            raise UsageError(
                f"--counters: {trace.source} has no value of {name!r}{did_you_mean(name, known)}"
            )


def _group_by(name: str) -> GroupBy:
    try:
        return GroupBy(name)
    except ValueError:
        raise UsageError(f"--group-by {name}: expected one of {', '.join(GroupBy)}") from None


def _device(name: str | None) -> DeviceProfile | None:
    if name is None:
        return None
    devices = load_profiles(DEFAULT_GUARDS, frozenset(ARCHITECTURES)).devices
    if name not in devices:
        raise UsageError(f"--profile {name}: there is no such device profile{did_you_mean(name, devices)}")
    return devices[name]


def _check_pattern(kernel: str) -> None:
    try:
        re.compile(kernel)
    except re.error as error:
        raise UsageError(f"--kernel {kernel!r} is not a regular expression: {error}") from None


def _console() -> Console:
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=_PIPE_WIDTH)
