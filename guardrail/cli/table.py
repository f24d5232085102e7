"""Plain tables on the terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDER_THAN_ANY_ROW = 100_000


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a header; whole lines, untruncated, where the output is no terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, name in enumerate(header):
        table.add_column(name, overflow="fold", no_wrap=position == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDER_THAN_ANY_ROW)
    console.print(table)
