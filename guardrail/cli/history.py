"""``guardrail history``."""

from pathlib import Path
from typing import Annotated

import typer

from guardrail.cli.options import DEFAULT_GUARDS, GuardsFile


def history(
    guard: Annotated[str, typer.Argument(help="The guard's id.")],
    guards: GuardsFile = DEFAULT_GUARDS,
    plot: Annotated[Path | None, typer.Option(help="Write a picture: FILE.svg.", metavar="FILE")] = None,
) -> None:
    """Show the anchors of a guard over time, and why each was moved."""
    from guardrail.cli.guard_report import find_guard
    from guardrail.cli.history_report import print_history, write_plot

    loaded = find_guard(guards, guard)
    if plot is not None:
        write_plot(loaded.guard, plot)
    print_history(loaded.guard)
