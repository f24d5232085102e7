"""A guard's anchors over time: as a table, and as a picture."""

from pathlib import Path

import typer

from guardrail.cli.anchor_lines import lines_of
from guardrail.cli.files import write_whole
from guardrail.cli.guard_report import first_anchor
from guardrail.cli.history_plot import svg
from guardrail.cli.table import print_table
from guardrail.errors import UsageError
from guardrail.reporters.text import one_line
from guardrail.spec.anchors import Anchor, PastAnchor
from guardrail.spec.guards import Guard


def print_history(guard: Guard) -> None:
    """Print every anchor with its change and its reason."""
    rows = [
        (
            line.metric,
            line.profile or "",
            str(step.anchor.value),
            "" if step.change is None else f"{step.change:+.2%}",
            step.since,
            step.until or "now",
            step.anchor.class_,
            step.anchor.commit,
            _reason(step.anchor),
        )
        for line in lines_of(guard)
        for step in line.steps
    ]
    if not rows:
        typer.echo(f"{guard.id} has no anchors: {_why_none(guard)}")
        return
    print_table(("metric", "profile", "anchor", "change", "from", "until", "class", "commit", "reason"), rows)


def write_plot(guard: Guard, path: Path) -> None:
    """Write a guard's anchors over time as a picture.

    Raises:
        UsageError: The file is no ``.svg``, the guard has no anchors, or the file cannot be written.
    """
    if path.suffix != ".svg":
        raise UsageError(f"--plot {path}: pictures are written as .svg; name the file so")
    lines = lines_of(guard)
    if not lines:
        raise UsageError(f"--plot {path}: {guard.id} has no anchors to show")
    write_whole(path, svg(guard.id, lines), "--plot")


def _why_none(guard: Guard) -> str:
    """Tell a bound that is written from one that waits for its first anchor."""
    waiting = [metric for metric, bound in guard.require.items() if bound.slack is not None]
    written = [metric for metric in guard.require if metric not in waiting]
    parts = [f"the bound of {', '.join(written)} is written"] if written else []
    if waiting:
        parts.append(f"that of {', '.join(waiting)}" if written else f"the bound of {', '.join(waiting)}")
        parts[-1] += f" is not anchored; {first_anchor(guard.id)}"
    return ", ".join(parts)


def _reason(anchor: Anchor | PastAnchor) -> str:
    ref = f" ({anchor.ref})" if anchor.ref else ""
    gone = anchor.incomparable_before if isinstance(anchor, PastAnchor) else None
    void = f"; incomparable before {gone}" if gone else ""
    return one_line(f"{anchor.reason}{ref}{void}")
