"""``guardrail ledger``: what was tried, what came of it, and why."""

from pathlib import Path
from typing import Annotated

import typer

LedgerPath = Annotated[Path, typer.Option("--ledger", help="The ledger.", metavar="FILE")]
DEFAULT = Path("ledger.yaml")

ledger_app = typer.Typer(no_args_is_help=True, help="Look levers up before you pull them, and add rows.")


@ledger_app.command("list")
def list_rows(ledger: LedgerPath = DEFAULT) -> None:
    """List every row, oldest first."""
    from guardrail.cli.ledger_report import print_rows
    from guardrail.store.ledger import read_ledger

    print_rows(read_ledger(ledger).entries)


@ledger_app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="The row's id.")], ledger: LedgerPath = DEFAULT
) -> None:
    """Show one row whole, and the rows that register, report or correct it."""
    from guardrail.cli.ledger_report import print_row
    from guardrail.store.ledger import read_ledger

    print_row(read_ledger(ledger), name)


@ledger_app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="Words that a row must hold, all of them.")],
    ledger: LedgerPath = DEFAULT,
) -> None:
    """Find prior art: the rows that hold every word, in any case and anywhere."""
    from guardrail.cli.ledger_report import print_found
    from guardrail.store.ledger import read_ledger

    print_found(read_ledger(ledger), words)


@ledger_app.command()
def add(
    name: Annotated[str, typer.Option("--id", help="The row's id.", metavar="ID")],
    verdict: Annotated[
        str, typer.Option(help="registered, landed, killed, measured-only or vetoed-before-build.")
    ],
    what: Annotated[str, typer.Option(help="The lever, in one sentence.")],
    mechanism: Annotated[str, typer.Option(help="Why it should help, with the arithmetic.")],
    date: Annotated[str | None, typer.Option(help="Year-month-day; today where left out.")] = None,
    criterion: Annotated[list[str] | None, typer.Option(help="What is to decide.")] = None,
    commit: Annotated[str | None, typer.Option(help="The commit that was measured.")] = None,
    arm: Annotated[list[str] | None, typer.Option(help="An arm.", metavar="NAME=TEXT")] = None,
    metric: Annotated[str | None, typer.Option(help="What was measured, with its unit.")] = None,
    estimate: Annotated[float | None, typer.Option(help="The measured ratio B/A.")] = None,
    interval: Annotated[
        tuple[float, float] | None, typer.Option(help="Low and high end of the ratio's interval.")
    ] = None,
    lesson: Annotated[str | None, typer.Option(help="What the next one should know.")] = None,
    reopen: Annotated[str | None, typer.Option(help="What would make it worth another try.")] = None,
    registered: Annotated[str | None, typer.Option(help="Row that registered the criterion.")] = None,
    corrects: Annotated[str | None, typer.Option(help="Row that this one corrects.")] = None,
    ledger: LedgerPath = DEFAULT,
) -> None:
    """Append a row; rows that are there never change."""
    from guardrail.cli.ledger_report import add_row

    stated = {
        "id": name, "date": date, "verdict": verdict, "what": what, "mechanism": mechanism,
        "criterion": criterion, "commit": commit, "metric": metric, "estimate": estimate,
        "interval": None if interval is None else list(interval), "lesson": lesson, "reopen": reopen,
        "registered": registered, "corrects": corrects,
    }  # fmt: skip
    add_row(ledger, stated, arm or [])
