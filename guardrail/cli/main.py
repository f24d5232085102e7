"""The typer application and the way errors become exit codes."""

import signal
import sys
import traceback
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

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
from guardrail.cli.streams import take_over
from guardrail.errors import ExitCode, GuardrailError


class _Commands(TyperGroup):
    """The commands, whose refusals are in plain words."""

    def invoke(self, ctx: Any) -> Any:  # typer's own context or click's, by its version
        """Run the command that was asked for; a refused value is told without pydantic's preamble."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as refusal:
            refusal.message = refusal.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="guardrail",
    cls=_Commands,
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
_INTERRUPTED = 128 + signal.SIGINT
_READER_GONE = 128 + signal.SIGPIPE
_STOPPED = {_INTERRUPTED: "interrupted", 128 + signal.SIGTERM: "told to end"}


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
    take_over()
    signal.signal(signal.SIGTERM, _end)
    try:
        app()
    except GuardrailError as error:
        _fail(str(error), error.exit_code, *_notes(error))
    except KeyboardInterrupt as stop:
        _stop(stop, _INTERRUPTED)
    except SystemExit as end:
        if end.code in _STOPPED:
            _stop(end, int(end.code))
        # typer leaves with 1 when the reader has gone, which would say that a guard failed.
        sys.exit(_READER_GONE if isinstance(end.__context__, BrokenPipeError) else end.code)
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{place}{error.strerror or error}", ExitCode.NOT_MEASURED, *_notes(error))
    except Exception as error:  # noqa: BLE001 - a bug must not leave with 1, which says that a guard failed
        message = f"{type(error).__name__}: {error}. This is a bug; 'guardrail --debug ...' shows where"
        _fail(message, ExitCode.NOT_MEASURED, *_notes(error))


def _end(number: int, frame: FrameType | None) -> None:
    """Leave through every block that ends workers and commands, which would go on without this process."""
    sys.exit(128 + number)


def _stop(stop: BaseException, code: int) -> NoReturn:
    """Say that the command was stopped from outside, and what it leaves behind."""
    notes: list[str] = []
    cause: BaseException | None = stop
    while cause is not None:  # typer has wrapped what says it
        notes += _notes(cause)
        cause = cause.__cause__ or cause.__context__
    _fail(_STOPPED[code], code, *notes)


def _notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


def _fail(message: str, code: int, *notes: str) -> NoReturn:
    if _DEBUG in sys.argv:
        traceback.print_exc()
    typer.echo("\n".join([f"guardrail: {message}", *notes]), err=True)
    sys.exit(code)
