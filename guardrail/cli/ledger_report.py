"""What ``guardrail ledger`` prints and appends."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from guardrail.cli.table import print_facts, print_line, print_table
from guardrail.errors import UsageError
from guardrail.reporters.text import one_line
from guardrail.store.ledger import Entry, Ledger
from guardrail.store.ledger_append import append_row
from guardrail.store.ledger_row import Row, make_row


def print_rows(entries: Sequence[Entry]) -> None:
    """Print rows as a table."""
    print_table(
        ("id", "date", "verdict", "B/A", "what"),
        [
            (row.id, row.date, row.verdict, _ratio(row), one_line(row.what))
            for row in (entry.row for entry in entries)
        ],
    )


def print_row(ledger: Ledger, name: str) -> None:
    """Print one row whole, and what refers to it or it refers to."""
    entry = ledger.find(name)
    typer.echo(f"{ledger.path}:{entry.line}")
    print_facts(_facts(entry.row))
    if related := ledger.related(name):
        typer.echo()
        print_rows(related)


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    for key, value in row.stated().items():
        shown = value if isinstance(value, list) else [value]
        if isinstance(value, dict):
            shown = [f"{arm}: {text}" for arm, text in value.items()]
        if key == "interval":
            shown = [_ratio(row)]
        for position, text in enumerate(shown):
            yield key if position == 0 else "", str(text)


def print_found(ledger: Ledger, words: Sequence[str]) -> None:
    """Print the rows that hold every one of some words, with their lessons.

    Raises:
        UsageError: One of the words is empty, which every row would hold.
    """
    if not all(word.strip() for word in words):
        raise UsageError("a word to search for is empty; 'guardrail ledger list' lists every row")
    found = ledger.search(words)
    if not found:
        typer.echo(f"no row of {ledger.path} holds {' and '.join(words)}")
        return
    print_rows(found)
    for row in (entry.row for entry in found):
        if row.lesson:
            print_line(f"\n{row.id}: {row.lesson}")
        if row.reopen:
            print_line(f"{'' if row.lesson else chr(10)}{row.id}: reopen if {row.reopen}")


def add_row(path: Path, stated: Mapping[str, Any], arms: Sequence[str]) -> None:
    """Append a row of what the command line states.

    Raises:
        UsageError: It is no complete row.
        ConfigurationError: The ledger is wrong, or would be with this row.
    """
    today = datetime.now(UTC).astimezone().date().isoformat()
    given = {**stated, "date": stated["date"] or today, "arms": dict(map(_arm, arms)) or None}
    row = make_row(given)
    entry = append_row(path, row)
    typer.echo(f"{path}:{entry.line}: {row.id}")


def _arm(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise UsageError(f"--arm {text}: expected NAME=TEXT")
    return name, value


def _ratio(row: Row) -> str:
    if row.interval is None:
        return "" if row.estimate is None else f"{row.estimate:.4g}"
    low, high = row.interval
    estimate = "" if row.estimate is None else f"{row.estimate:.4g} "
    return f"{estimate}({low:.4g} to {high:.4g})"
