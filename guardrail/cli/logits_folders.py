"""What ``guardrail logits compare-dirs`` prints, and says to the shell."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from guardrail.adapters.logits.folder_files import compare_folders, read_logits_pair
from guardrail.cli.logits_plot import panel_of, write_plot
from guardrail.cli.profile_plot import check_plot_file
from guardrail.cli.table import print_line, print_table
from guardrail.errors import ExitCode, UsageError
from guardrail.logits.classes import FACTOR
from guardrail.logits.folders import FileDelta, FileResult, FileStatus, FolderComparison, Presence


def print_folders(
    pre: Path, post: Path, own: Path | None, factor: float | None, plot: Path | None, as_json: bool
) -> ExitCode:
    """Compare two folders and print what became of each file that is not identical.

    Raises:
        UsageError: A folder cannot be one, a factor has nothing to multiply, or there are no logits to draw.
        MeasurementError: A file cannot be read.
    """
    if plot is not None:
        check_plot_file(plot)
    if factor is not None and own is None:
        raise UsageError("--factor goes with --self, whose difference it multiplies")
    found = compare_folders(pre, post, own, factor or FACTOR)
    if plot is not None:
        _draw(plot, pre, post, found)
    if as_json:
        typer.echo(json.dumps(_as_json(found), indent=2))
    else:
        _print(found, own)
    return found.exit_code


def _print(found: FolderComparison, own: Path | None) -> None:
    shown = [result for result in found.files if result.status is not FileStatus.IDENTICAL]
    if shown:
        header = ("file", "status", "differing", "max |delta|", "PRE to PRE2", "non-finite")
        print_table(header, map(_cells, shown))
        typer.echo()
    counts = [f"{found.count(status)} {status}" for status in FileStatus if found.count(status)]
    total = len(found.files)
    print_line(f"{total} file{'s' * (total != 1)}: {', '.join(counts)}")
    for sentence in _remarks(found, own):
        print_line(sentence)


def _remarks(found: FolderComparison, own: Path | None) -> Iterator[str]:
    if found.count(FileStatus.NOISE):
        yield "noise differs between two runs of the unchanged build; it is neither a pass nor a finding"
    if found.count(FileStatus.NONFINITE):
        yield "NaN and infinite numbers never pass, equal or not, whichever of the runs has them"
    for result in found.doubtful:
        yield (
            f"undecided: {result.name} moved {result.beyond_noise:.3g} x as far as between the two runs of "
            f"the unchanged build, which explain up to {found.factor:g} x"
        )
    if found.count(FileStatus.DIFFERENT) and own is None:
        yield "what two runs of the unchanged build differ in is noise; --self PRE2 takes it out"
    if found.exit_code is ExitCode.NOTHING_CHECKED:
        yield "no file is the same in two runs of the unchanged build, so nothing was compared"


def _cells(result: FileResult) -> Sequence[str]:
    delta = result.delta
    if delta is None:
        return result.name, result.status, "", "", _largest(result.own), ""
    differing = f"{delta.differing} of {delta.elements}"
    return result.name, result.status, differing, _largest(delta), _largest(result.own), _nonfinite(result)


def _largest(delta: Presence) -> str:
    if delta is None:
        return ""
    if delta.max_abs is not None:
        return f"{delta.max_abs:.6g}"
    return "-" if delta.nonfinite else "no numbers"


def _nonfinite(result: FileResult) -> str:
    """Count NaN and infinite numbers of PRE and POST, or those of PRE2 where only it has some."""
    counts = [0 if delta is None else delta.nonfinite for delta in (result.delta, result.own)]
    return f"{counts[1]} in PRE2" if counts[1] and not counts[0] else str(counts[0])


def _draw(plot: Path, pre: Path, post: Path, found: FolderComparison) -> None:
    """Draw every file of logits that both folders have."""
    panels = [
        panel_of(f"{result.name}{label}", *rows)
        for result in found.files
        if isinstance(result.delta, FileDelta)
        for label, rows in read_logits_pair(pre / result.name, post / result.name)
    ]
    if not panels:
        raise UsageError(f"--plot {plot}: both folders have no file logits* of one shape to draw")
    write_plot(plot, f"{post} - {pre}", panels)


def _as_json(found: FolderComparison) -> dict[str, object]:
    return {
        "counts": {status: found.count(status) for status in FileStatus},
        "undecided": [result.name for result in found.doubtful],
        "files": [asdict(result) for result in found.files],
    }
