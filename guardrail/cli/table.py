"""Plain tables on the terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a header; whole lines, untruncated, where the output is no terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, name in enumerate(header):
        table.add_column(name, overflow="fold", no_wrap=position == 0)
    for row in rows:
        table.add_row(*map(_plain, row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
