"""The command ``guardrail doctor``: what this machine can measure, and what would spoil it now."""

from typing import Annotated

import typer

from guardrail.cli.options import DEFAULT_GUARDS, GuardsFile


def doctor(
    guards: GuardsFile = DEFAULT_GUARDS,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what this machine can measure, what would spoil it now, and what to do: exit 4 if anything would.

    The guards file need not exist; device profiles beside it are known too.
    """
    from guardrail import app
    from guardrail.cli.doctor_report import as_document, print_diagnosis
    from guardrail.errors import ExitCode

    diagnosis = app.doctor(guards)
    if as_json:
        typer.echo(as_document(diagnosis))
    else:
        print_diagnosis(diagnosis)
    raise typer.Exit(ExitCode.UNDECIDED if diagnosis.all_spoilers else ExitCode.OK)
