"""``guardrail reanchor``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from guardrail.cli.options import DEFAULT_GUARDS, GuardsFile


class AnchorClass(StrEnum):
    """Why an anchor is moved."""

    CORRECTNESS_FIX = "correctness-fix"
    OPTIMISATION = "optimisation"
    ENVIRONMENT = "environment"
    MEASUREMENT = "measurement"


def reanchor(
    context: typer.Context,
    guard: Annotated[list[str], typer.Argument(help="Guards whose anchors are to be moved.")],
    anchor_class: Annotated[
        AnchorClass,
        typer.Option("--class", help=f"What moved the number: {', '.join(AnchorClass)}.", metavar="CLASS"),
    ],
    reason: Annotated[str, typer.Option(help="Why, in a sentence that a reviewer will read.")],
    guards: GuardsFile = DEFAULT_GUARDS,
    ref: Annotated[str | None, typer.Option(help="Issue, pull request or run.", metavar="URL")] = None,
    predict: Annotated[
        str | None, typer.Option(help="Change that was predicted, such as -2.7%.", metavar="PERCENT")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Only this metric of the guards.")] = None,
    profile: Annotated[str | None, typer.Option(help="Only this profile.")] = None,
    saved: Annotated[
        list[Path] | None,
        typer.Option("--from", help="A saved run for a window; three at least.", metavar="FILE"),
    ] = None,
    windows: Annotated[int, typer.Option(min=3, help="Windows to measure.")] = 3,
    against: Annotated[
        str | None,
        typer.Option(
            help="Measure in turns with this git revision, or command with {guard}.", metavar="REVISION"
        ),
    ] = None,
    was_red: Annotated[
        Path | None,
        typer.Option(help="Saved run from before a fix, with its guard red.", metavar="FILE"),
    ] = None,
    slack: Annotated[
        str | None, typer.Option(help="CHANGE the slack too; it never moves otherwise.", metavar="PERCENT")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the change; write nothing.")] = False,
) -> None:
    """Move the anchors of guards to what is measured now, with a reason and evidence.

    Exit codes: 0 moved, 1 refused, 2 usage or configuration, 3 could not measure.
    """
    from guardrail.cli.progress import progress
    from guardrail.cli.reanchor_report import parse_request, report_moved
    from guardrail.cli.reanchoring import reanchor as move

    request = parse_request(
        guards_file=guards,
        guards=guard,
        anchor_class=anchor_class.value,
        reason=reason,
        ref=ref,
        predict=predict,
        metric=metric,
        profile=profile,
        saved=saved or [],
        windows=windows,
        against=against,
        was_red=was_red,
        slack=slack,
        dry_run=dry_run,
        debug=bool(context.find_root().params["debug"]),
    )
    with progress() as listener:
        moved = move(request, listener)
    report_moved(request, moved)
