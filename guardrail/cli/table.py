"""Plain tables on the terminal, and lines of prose between them."""

import re
from collections.abc import Iterable, Sequence

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_WIDER_THAN_ANY_ROW = 100_000
_GAP = "  "
_NARROWEST_PROSE = 30
_PADDING = re.compile(r"\s+(\x1b\[0m)?$")


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a header; whole lines, untruncated, where the output is no terminal.

    Only the last column is prose and wraps. Where a terminal has no room for it beside the others, it goes
    below them: a name that is broken in two cannot be copied.
    """
    console = Console()
    cells = [tuple(row) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(header, *cells, strict=True)]
    room = console.width - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1)
    if not console.is_terminal:
        _print(Console(width=_WIDER_THAN_ANY_ROW), [_table(header, cells)])
    elif room >= _least(row[-1] for row in (header, *cells)):
        _print(console, [_table(header, cells)])
    else:
        _print(console, _stacked(header, cells, widths[:-1] if room > 0 else [0] * (len(widths) - 1)))


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names with what each is; what does not fit on its line goes on below where it began."""
    console = Console()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(Text(name), Text(text))
    _print(console if console.is_terminal else Console(width=_WIDER_THAN_ANY_ROW), [table])


def print_line(text: str = "") -> None:
    """Print a line of prose; a terminal's are broken between words."""
    console = Console()
    if console.is_terminal:
        _print(console, [Text(text)])
    else:
        typer.echo(text)


def _least(prose: Iterable[str]) -> int:
    """Find the width from which on a column may wrap: short texts at each word, sentences not that often."""
    texts = list(prose)
    if max(map(cell_len, texts)) > _NARROWEST_PROSE:
        return _NARROWEST_PROSE
    return max(cell_len(word) for text in texts for word in (text.split() or [""]))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, name in enumerate(header):
        table.add_column(name, overflow="fold", no_wrap=position < len(header) - 1)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _stacked(
    header: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int]
) -> Iterable[RenderableType]:
    """Put the last cell of each row below the others."""
    for style, row in (("bold", header), *(("", row) for row in rows)):
        names = zip(row[:-1], widths, strict=True)
        padded = (set_cell_size(name, max(width, cell_len(name))) for name, width in names)
        yield Text(_GAP.join(padded), style, overflow="fold")
        if row[-1]:
            yield Padding(Text(row[-1], style), (0, 0, 0, 2 * len(_GAP)))


def _print(console: Console, parts: Iterable[RenderableType]) -> None:
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    # A table pads its lines to its width.
    typer.echo("\n".join(_PADDING.sub(r"\1", line) for line in capture.get().split("\n")), nl=False)
