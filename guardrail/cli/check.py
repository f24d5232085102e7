"""``guardrail check``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from guardrail.cli.options import DEFAULT_GUARDS, FORMATS, GuardsFile
from guardrail.errors import UsageError

if TYPE_CHECKING:
    from guardrail.app import ProgressListener
    from guardrail.records.report import RunReport
    from guardrail.workspace import Selection


def check(
    context: typer.Context,
    guards: GuardsFile = DEFAULT_GUARDS,
    only: Annotated[
        list[str] | None, typer.Option(help="Check only guards whose id matches.", metavar="GLOB")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Measure for this device profile only.")] = None,
    require_profile: Annotated[
        list[str] | None,
        typer.Option(help="Fail with 3 unless this machine is that device.", metavar="PROFILE"),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help=f"Report format: {', '.join(FORMATS)}.", metavar="FORMAT"),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            help="File for the json or junit report; several in the order of --format.", metavar="FILE"
        ),
    ] = None,
    saved: Annotated[
        Path | None,
        typer.Option("--from", help="Judge a saved JSON report again; measure nothing.", metavar="FILE"),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what the cache holds.")] = False,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Run every guard's negative control.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail a guard that its anchor's bound no longer guards.")
    ] = False,
) -> None:
    """Measure what the guards guard, and fail if a bound does not hold.

    Exit codes: 0 all hold, 1 a guard failed, 2 usage or configuration,
    3 could not measure, 4 undecided, 5 nothing was checked.
    """
    from guardrail.cli.output import Outputs
    from guardrail.cli.progress import progress
    from guardrail.workspace import Selection

    measuring = {
        "--self-test": self_test,
        "--fresh": fresh,
        "--profile": profile,
        "--require-profile": require_profile,
    }
    if saved is not None and any(measuring.values()):
        given = " or ".join(name for name, value in measuring.items() if value)
        raise UsageError(f"--from measures nothing, so it does not go with {given}")
    outputs = Outputs.parse(formats or ["terminal"], output or [])
    debug = bool(context.find_root().params["debug"])
    selection = Selection(
        guards, tuple(only or ()), profile, tuple(require_profile or ()), fresh, debug, strict
    )
    with progress() as listener:
        try:
            report = _run(selection, saved, self_test, listener)
        except (KeyboardInterrupt, SystemExit) as stop:
            stop.add_note("no report is written; what was measured and can be kept is in the cache")
            raise
    outputs.write(report)
    raise typer.Exit(report.exit_code)


def _run(
    selection: "Selection", saved: Path | None, self_test: bool, listener: "ProgressListener"
) -> "RunReport":
    from guardrail import app

    if saved is not None:
        return app.check_saved(selection, saved)
    return (app.self_test if self_test else app.check)(selection, listener)
