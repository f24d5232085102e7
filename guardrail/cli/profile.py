"""The command ``guardrail profile``: where the GPU's time goes."""

from pathlib import Path
from typing import Annotated

import typer


def profile(
    target: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET [-- ARGUMENTS]",
            help="Kernel or operation, Python script, saved report; -- before a command or arguments.",
            show_default=False,
        ),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option(
            "--module", "-m", help="Profile a Python module; TARGET and the rest are its arguments."
        ),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="Case of an operation: its name, or axis=value, repeated.")
    ] = None,
    arm: Annotated[
        str | None, typer.Option(help="Arm of an operation; the first that covers the case.")
    ] = None,
    calls: Annotated[
        int | None, typer.Option(min=1, help="Calls of a kernel or operation; 20 by default.")
    ] = None,
    group_by: Annotated[str, typer.Option(help="kernel, region or stream.")] = "kernel",
    kernel: Annotated[str | None, typer.Option(help="Only names that this regular expression finds.")] = None,
    top: Annotated[int, typer.Option(min=0, help="Rows to show; 0 shows all.")] = 20,
    counters: Annotated[
        str | None, typer.Option(help="Hardware counters by ncu's names, with commas between them.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="Older report or saved --json, to compare with.", metavar="OTHER")
    ] = None,
    arch: Annotated[str | None, typer.Option(help="Architecture to count blocks per SM for: sm_90.")] = None,
    device: Annotated[
        str | None, typer.Option("--profile", help="Device profile to count blocks and rates for.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture: FILE.svg or FILE.html.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Every row and launch as one JSON object.")] = False,
) -> None:
    """Show what ran on the GPU, the longest first: a kernel, a script, a command, or a saved report."""
    from guardrail.adapters.profile_targets import TargetRequest
    from guardrail.adapters.subject_profile import SubjectRequest
    from guardrail.cli.profile_report import ReportRequest, report_profile

    names = tuple(name.strip() for name in (counters or "").split(",") if name.strip())
    subject = SubjectRequest("", tuple(case or ()), arm, calls)
    report_profile(
        TargetRequest(tuple(target or ()), module, subject, names),
        ReportRequest(group_by, kernel or "", top, names, compare, arch, device, plot, as_json),
    )
