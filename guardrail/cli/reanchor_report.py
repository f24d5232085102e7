"""How ``guardrail reanchor`` reads its command line, and what it prints."""

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from guardrail.cli.reanchoring import Moved, Request
from guardrail.errors import UsageError
from guardrail.reanchor.order import Order
from guardrail.reanchor.prediction import parse_prediction
from guardrail.reanchor.windows import Series
from guardrail.reporters.common import quantity
from guardrail.spec.anchors import SLACK_PATTERN
from guardrail.spec.files import UNPRINTABLE
from guardrail.spec.limits import derived
from guardrail.store.evidence import evidence_path

_CONTEXT_LINES = 1


def parse_request(
    *,
    guards_file: Path,
    guards: Sequence[str],
    anchor_class: str,
    reason: str,
    ref: str | None,
    predict: str | None,
    metric: str | None,
    profile: str | None,
    saved: Sequence[Path],
    windows: int,
    against: str | None,
    was_red: Path | None,
    slack: str | None,
    dry_run: bool,
    debug: bool,
) -> Request:
    """Check what needs no guards file.

    Raises:
        UsageError: An option's value is malformed, or two do not go together.
    """
    if saved and against is not None:
        raise UsageError("--from measures nothing, so it does not go with --against")
    if slack is not None and not re.match(SLACK_PATTERN, slack):
        raise UsageError(f"--slack {slack}: expected a percentage below 100, such as 2%")
    for option, text in (("--reason", reason), ("--ref", ref or "")):
        if "\n" in text or "\t" in text or UNPRINTABLE.search(text):
            raise UsageError(f"{option}: the text must be one line without control characters")
    if doubled := next((name for name in guards if guards.count(name) > 1), None):
        raise UsageError(f"{doubled} is given twice")
    predicted = parse_prediction(predict) if predict is not None else None
    order = Order(anchor_class, reason.strip(), ref, predicted, slack, metric, profile, against)
    return Request(guards_file, tuple(guards), order, windows, tuple(saved), was_red, dry_run, debug)


def report_moved(request: Request, moved: Moved) -> None:
    """Print what moved, from where to where, and the change of the guards file."""
    for plan in moved.plans:
        for line in _lines(plan.series, plan.old_values, request.order.slack):
            typer.echo(line)
        typer.echo(f"  evidence {evidence_path(Path(), plan.evidence)}")
    for note in moved.notes:
        typer.echo(f"note: {note}", err=True)
    file = str(request.guards_file)
    diff = difflib.unified_diff(
        moved.before.splitlines(), moved.after.splitlines(), file, file, n=_CONTEXT_LINES, lineterm=""
    )
    typer.echo("\n" + "\n".join(diff))
    typer.echo(
        "\nnothing is written (--dry-run)"
        if request.dry_run
        else f"\n{file} is written; review and commit it with its evidence and the ledger"
    )


def _lines(series: Series, beside: Sequence[float | int], slack: str | None) -> Iterator[str]:
    unit = series.measurements[0].unit
    yield series.name
    old = series.old
    if old is None:
        yield f"  first anchor {quantity(series.value, unit)}"
    else:
        change = f" ({series.value / old.value - 1:+.2%})" if old.value else ""
        yield f"  anchor {quantity(old.value, '')} -> {quantity(series.value, unit)}{change}"
    if beside:
        changes = sorted(series.changes_from(beside))
        middle = changes[len(changes) // 2]
        span = f"{changes[0]:+.2%} to {changes[-1]:+.2%}"
        yield f"  against the old build, side by side: {middle:+.2%} ({span})"
    limit = derived(series.bound, series.value)
    yield (
        f"  {limit.kind} {quantity(limit.value, unit)} = anchor with a slack of {series.bound.slack}; "
        f"{len(series.values)} windows, {series.spread:.2%} apart"
    )
    if slack is not None:
        yield f"  THE SLACK IS SET TO {slack}: the anchor's windows do not justify that, its reviewer must"
