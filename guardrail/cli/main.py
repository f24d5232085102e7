"""The typer application and the way errors become exit codes."""

import sys
from typing import Annotated

import typer

import guardrail
from guardrail.cli.cache import cache
from guardrail.cli.check import check
from guardrail.cli.list import list_app
from guardrail.cli.resources import resources
from guardrail.cli.schema import schema
from guardrail.errors import GuardrailError

app = typer.Typer(
    name="guardrail",
    help="Profile GPU kernels, and fail CI when a dispatch gate, a floor or a budget regresses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(check)
app.command()(resources)
app.add_typer(list_app, name="list")
app.command()(schema)
app.command()(cache)

_DEBUG = "--debug"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"guardrail {guardrail.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option(_DEBUG, help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """State the options that every command shares."""


def main() -> None:
    """Run the command line; an error of the user's is one message and its exit code."""
    try:
        app()
    except GuardrailError as error:
        if _DEBUG in sys.argv:
            raise
        typer.echo(f"guardrail: {error}", err=True)
        sys.exit(error.exit_code)
