"""The typer application and the way errors become exit codes."""

import io
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

import guardrail
from guardrail.cli.ab import ab
from guardrail.cli.cache import cache
from guardrail.cli.check import check
from guardrail.cli.doctor import doctor
from guardrail.cli.history import history
from guardrail.cli.kv import kv_app
from guardrail.cli.ledger import ledger_app
from guardrail.cli.list import list_app
from guardrail.cli.logits import logits_app
from guardrail.cli.profile import profile
from guardrail.cli.reanchor import reanchor
from guardrail.cli.resources import resources
from guardrail.cli.schema import schema
from guardrail.cli.show import show
from guardrail.errors import ExitCode, GuardrailError

app = typer.Typer(
    name="guardrail",
    help="Profile GPU kernels, and fail CI when a dispatch gate, a floor or a budget regresses.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(check)
app.command()(show)
app.command()(history)
app.command()(reanchor)
app.command()(resources)
app.command()(profile)
app.command()(ab)
app.add_typer(ledger_app, name="ledger")
app.add_typer(kv_app, name="kv")
app.add_typer(logits_app, name="logits")
app.add_typer(list_app, name="list")
app.command()(schema)
app.command()(doctor)
app.command()(cache)

_DEBUG = "--debug"
_INTERRUPTED = 130
_READER_GONE = 141


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
    """Run the command line; an error is one message and its exit code."""
    _open_closed_streams()
    _accept_any_text()
    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except GuardrailError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except SystemExit as end:
        # typer leaves with 1 when the reader has gone, which would say that a guard failed.
        sys.exit(_READER_GONE if isinstance(end.__context__, BrokenPipeError) else end.code)
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{place}{error.strerror or error}", ExitCode.NOT_MEASURED)
    except Exception as error:  # noqa: BLE001 - a bug must not leave with 1, which says that a guard failed
        message = f"{type(error).__name__}: {error}. This is a bug; 'guardrail --debug ...' shows where"
        _fail(message, ExitCode.NOT_MEASURED)


def _end(number: int, frame: FrameType | None) -> None:
    """Leave through every block that ends workers and commands, which would go on without this process."""
    sys.exit(128 + number)


def _fail(message: str, code: int) -> None:
    if _DEBUG in sys.argv:
        traceback.print_exc()
    typer.echo(f"guardrail: {message}", err=True)
    sys.exit(code)


def _open_closed_streams() -> None:
    """Let a report go nowhere where the caller has closed its stream."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end


def _accept_any_text() -> None:
    """Write UTF-8 into pipes and files, and never fail for a character that a terminal does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
