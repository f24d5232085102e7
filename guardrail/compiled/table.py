"""Kernel resources and their changes as terminal tables."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from guardrail.compiled.diff import Change, Comparison
from guardrail.compiled.names import shorten
from guardrail.compiled.occupancy import Limiter
from guardrail.compiled.resources import KernelResources

ROWS = 50
UNKNOWN = "-"
_FIGURES = ("arch", "regs", "stack", "spill st/ld", "shared", "threads", "blocks/SM", "limited by")
_SHORT: Mapping[Limiter, str] = {"registers": "regs", "shared memory": "shared"}
_LEFT_ALIGNED = ("arch", "limited by")
_WIDE_NAME = 20
_SHORT_NAME = 14


def print_kernels(kernels: Sequence[KernelResources], console: Console, rows: int | None = ROWS) -> None:
    """Print one row a kernel below a line with toolchain and count.

    Args:
        kernels: In the order to print them.
        console: Where to print.
        rows: How many to print; all of them where None.
    """
    console.print(f"{_count(len(kernels), 'kernel')}, {_toolchains(kernels)}", highlight=False)
    shown = kernels[:rows]
    _print_table(console, [kernel.name for kernel in shown], [_figures(kernel) for kernel in shown])
    _print_rest(console, len(kernels) - len(shown))


def print_comparison(comparison: Comparison, console: Console, rows: int | None = ROWS) -> None:
    """Print the counts of a comparison and the kernels that got worse, every kernel where `rows` is None."""
    counts = (
        f"{len(comparison.worse):,} worse, {len(comparison.better):,} better, "
        f"{comparison.unchanged:,} unchanged, {len(comparison.added):,} added, "
        f"{len(comparison.removed):,} removed"
    )
    console.print(counts, highlight=False)
    pairs = [*comparison.worse, *comparison.better]
    if pairs:
        old = _toolchains([change.old for change in pairs])
        new = _toolchains([change.new for change in pairs])
        console.print(new if old == new else f"{old} → {new}", highlight=False)
    _print_changes("worse", comparison.worse, console, rows)
    if rows is None:
        _print_changes("better", comparison.better, console, rows)
        for title, kernels in (("added", comparison.added), ("removed", comparison.removed)):
            if kernels:
                console.print(f"\n{title}:", highlight=False)
                print_kernels(kernels, console, rows)


def _print_changes(title: str, changes: Sequence[Change], console: Console, rows: int | None) -> None:
    if not changes:
        return
    console.print(f"\n{title}:", highlight=False)
    shown = changes[:rows]
    figures = [tuple(map(_transition, _figures(change.old), _figures(change.new))) for change in shown]
    _print_table(console, [change.new.name for change in shown], figures)
    _print_rest(console, len(changes) - len(shown))


def _print_table(console: Console, names: Sequence[str], figures: Sequence[tuple[str, ...]]) -> None:
    """Print named rows without the columns that say nothing in any row; names take the width that is left.

    Where that is too little for a name, headings and changes go on two lines: no figure is ever cut off.
    """
    told = [i for i in range(len(_FIGURES)) if any(row[i] != UNKNOWN for row in figures)]
    columns = [(_FIGURES[i], *(row[i] for row in figures)) for i in told]
    widths = [max(map(len, column)) for column in columns]
    room = console.width - 2 * len(told)
    if room - sum(widths) < min(_WIDE_NAME, max(map(len, names), default=0)):
        widths = [max(len(word) for cell in column for word in cell.split()) for column in columns]
    name_width = max(_SHORT_NAME, room - sum(widths))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("name", no_wrap=True)
    for i, width in zip(told, widths, strict=True):
        left = _FIGURES[i] in _LEFT_ALIGNED
        table.add_column(_FIGURES[i], width=width, justify="left" if left else "right")
    for name, row in zip(names, figures, strict=True):
        table.add_row(Text(shorten(name, name_width)), *(row[i] for i in told))
    with console.capture() as capture:
        console.print(table, highlight=False)
    lines = capture.get().split("\n")
    console.out("\n".join(line.rstrip() for line in lines), highlight=False, end="")


def _print_rest(console: Console, hidden: int) -> None:
    if hidden:
        console.print(f"{hidden:,} more, --all shows them", highlight=False)


def _figures(kernel: KernelResources) -> tuple[str, ...]:
    spills = UNKNOWN
    if kernel.spill_store_bytes is not None and kernel.spill_load_bytes is not None:
        spills = f"{kernel.spill_store_bytes}/{kernel.spill_load_bytes}"
    return (
        kernel.arch,
        str(kernel.registers),
        str(kernel.stack_bytes),
        spills,
        str(kernel.shared_bytes),
        _text(kernel.threads),
        _text(kernel.blocks_per_sm),
        _limiters(kernel),
    )


def _limiters(kernel: KernelResources) -> str:
    """Name what limits the blocks by the headings of its columns, so that several fit."""
    found = kernel.occupancy
    return UNKNOWN if found is None else ", ".join(_SHORT.get(name, name) for name in found.limiters)


def _text(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _transition(old: str, new: str) -> str:
    return new if old == new else f"{old} → {new}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _toolchains(kernels: Sequence[KernelResources]) -> str:
    return "; ".join(sorted({kernel.toolchain for kernel in kernels}))
