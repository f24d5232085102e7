"""The table of a profile, and of what changed between two."""

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from guardrail.cli.profile_figures import UNKNOWN, Target, details, duration, percent, short_name
from guardrail.records.launch import Trace, WorkKind
from guardrail.traces.compare import ChangeKind, TraceChange
from guardrail.traces.summary import Row

_NARROW = 100
"""Below this width the shortest and longest call go to the line of details, and sums are left out."""
_LEAST_NAME = 16
_GAP = "  "
_COLOURS = {ChangeKind.APPEARED: "red", ChangeKind.SLOWER: "red", ChangeKind.VANISHED: "green"}
_COLOURS[ChangeKind.FASTER] = "green"


def print_headline(trace: Trace, console: Console) -> None:
    """Print what was recorded, and what a reader must know of it."""
    total = sum(launch.duration_ns for launch in trace.launches)
    calls = {kind: sum(it.calls for it in trace.launches if it.kind is kind) for kind in WorkKind}
    names = len({it.name for it in trace.launches if it.kind is WorkKind.KERNEL})
    counted = [f"{count_of(calls[WorkKind.KERNEL], 'launch', 'launches')} of {count_of(names, 'kernel')}"]
    if calls[WorkKind.COPY]:
        counted.append(count_of(calls[WorkKind.COPY], "copy", "copies"))
    if calls[WorkKind.FILL]:
        counted.append(count_of(calls[WorkKind.FILL], "fill"))
    origin = ", ".join(filter(None, (trace.tool, trace.device, trace.arch)))
    console.print(Text(f"{duration(total)} of GPU time: {', '.join(counted)} ({origin})"))
    for note in trace.notes:
        console.print(Text(note, style="dim"))


def print_rows(
    rows: Sequence[Row], target: Target, counters: Sequence[str], console: Console, hidden: int
) -> None:
    """Print two lines a row: its times, and below them what its launches were."""
    wide = console.width >= _NARROW
    header = ["calls", "total", "share", "median", *(("min", "max") if wide else ()), "spread"]
    figures = [_times(row, wide=wide) for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *figures, strict=True)]
    name_width = max(_LEAST_NAME, console.width - sum(widths) - len(_GAP) * len(widths))
    console.print()
    console.print(Text(_line("name", header, widths, name_width), style="bold"))
    for row, cells in zip(rows, figures, strict=True):
        console.print(Text(_line(short_name(row, name_width), cells, widths, name_width)))
        known = details(row, target)
        if not wide and row.calls > 1 and row.min_ns is not None:
            known.insert(0, f"{duration(row.min_ns)} to {duration(row.max_ns)}")
        known += [f"{name} {row.counters[name]:,.6g}" for name in counters if name in row.counters]
        _print_details(known, console)
    if hidden:
        console.print(f"{hidden:,} more, --top 0 shows them", highlight=False)


def print_changes(changes: Sequence[TraceChange], shown: int | None, console: Console) -> None:
    """Print the sums of a comparison and its rows, the largest change first.

    The last column is the change of the median call, which a changed number of calls does not move.
    """
    old = sum(change.old.total_ns for change in changes if change.old)
    new = sum(change.new.total_ns for change in changes if change.new)
    kinds = [change.kind for change in changes]
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ChangeKind if kind in kinds)
    relative = f", {(new - old) / old:+.1%}" if old else ""
    console.print(Text(f"{duration(old)} → {duration(new)} ({_signed(new - old)}{relative}): {counted}"))
    listed = changes[:shown]
    wide = console.width >= _NARROW
    header = ["change", "calls", *(("before", "after") if wide else ()), "delta", "median"]
    figures = [_change(change, wide=wide) for change in listed]
    widths = [max(map(len, column)) for column in zip(header, *figures, strict=True)]
    name_width = max(_LEAST_NAME, console.width - sum(widths) - len(_GAP) * len(widths))
    console.print()
    console.print(Text(_line("name", header, widths, name_width), style="bold"))
    for change, cells in zip(listed, figures, strict=True):
        row = change.new or change.old
        assert row is not None
        line = _line(short_name(row, name_width), cells, widths, name_width)
        console.print(Text(line, style=_COLOURS.get(change.kind, "")))
    if len(changes) > len(listed):
        console.print(f"{len(changes) - len(listed):,} more, --top 0 shows them", highlight=False)


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _times(row: Row, *, wide: bool) -> list[str]:
    extremes = (duration(row.min_ns), duration(row.max_ns)) if wide else ()
    return [
        f"{row.calls:,}",
        duration(row.total_ns),
        percent(row.share),
        duration(row.median_ns),
        *extremes,
        percent(row.spread),
    ]


def _change(change: TraceChange, *, wide: bool) -> list[str]:
    old, new = change.old, change.new
    calls = [f"{row.calls:,}" for row in (old, new) if row]
    medians = old.median_ns / new.median_ns if old and new and old.median_ns and new.median_ns else None
    totals = [duration(row.total_ns) if row else UNKNOWN for row in (old, new)]
    return [
        change.kind,
        " → ".join(dict.fromkeys(calls)),
        *(totals if wide else ()),
        _signed(change.delta_ns),
        UNKNOWN if medians is None else f"{1 / medians - 1:+.1%}",
    ]


def _signed(nanoseconds: float) -> str:
    return duration(nanoseconds) if nanoseconds < 0 else f"+{duration(nanoseconds)}"


def _line(name: str, cells: Sequence[str], widths: Sequence[int], name_width: int) -> str:
    padded = set_cell_size(name, name_width) if cell_len(name) < name_width else name
    return padded + "".join(_GAP + cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def _print_details(known: Sequence[str], console: Console) -> None:
    # A figure stays in one piece where the line must be broken.
    joined = ", ".join(part.replace(" ", "\u00a0") for part in known)
    for line in textwrap.wrap(joined, console.width - 1, initial_indent=_GAP, subsequent_indent=_GAP):
        console.print(Text(line.replace("\u00a0", " "), style="dim"))
