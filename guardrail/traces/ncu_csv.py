"""Nsight Compute's tables (``ncu --csv``): page raw, a column a counter, and page details, a row each."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from guardrail.errors import UsageError
from guardrail.records.launch import Dimensions, Launch, Trace, WorkKind
from guardrail.traces.ncu_values import base_unit_factor, parse_number, require_unit

DURATION = "gpu__time_duration.sum"
_IDENTITY = ("ID", "Kernel Name", "Block Size", "Grid Size")
_LONG = ("Metric Name", "Metric Unit", "Metric Value")
_DISPLAY_NAMES = {
    "Duration": DURATION,
    "Registers Per Thread": "launch__registers_per_thread",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
}
"""What the details page calls the counters that a row of the table is made of."""
_ERROR = re.compile(r"^==ERROR==\s*(.*)$", re.MULTILINE)
_NOTE = "ncu runs kernels one by one, at base clocks and with a flushed cache unless it was told otherwise"
_NO_UNITS = "the report states no units: its numbers are taken to be in base units (ns, byte)"
_FIGURE = re.compile(r"\w+__\w+(?:\.\w+)+|launch__(?:registers_per_thread|shared_mem_per_block_\w+)")
"""Counters that are never words; those of a launch may be, where they have no unit."""
_AXES = re.compile(r"\(?\s*(\d+),\s*(\d+),\s*(\d+)\s*\)?")
_CAPABILITY = re.compile(r"\d+\.\d+[a-z]?|")
_ABOUT_MACHINE = ("c2clink__", "device__", "numa__", "nvlink__", "profiler__")
"""What ncu lists with every kernel and is no counter of it."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the table with the number that it has in the file."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Profiled:
    """One kernel with its counters in base units."""

    row: _Row
    counters: Mapping[str, float]


def is_ncu_csv(text: str) -> bool:
    """Tell whether a text holds the header line of an ncu table, below whatever a program printed."""
    return _header_line(text.splitlines()) is not None


def read_ncu_csv(text: str, source: str) -> Trace:
    """Read what ncu printed.

    Args:
        text: All of it; lines before the table are skipped.
        source: What to call it in errors and reports.

    Returns:
        Its kernels in launch order with every counter that has a value.

    Raises:
        UsageError: There is no table, it breaks off or is damaged, or a kernel has no duration.
    """
    rows = list(_rows(text, source))
    long = bool(rows) and all(name in rows[0].cells for name in _LONG)
    units = rows.pop(0) if rows and not long and not rows[0].cells["ID"] else None
    profiled = list(_long(rows, source) if long else _wide(rows, units, source))
    launches = tuple(_launch(kernel, source) for kernel in profiled)
    names = {kernel.row.cells.get("device__attribute_display_name", "") for kernel in profiled}
    capabilities = {kernel.row.cells.get("CC", "") for kernel in profiled}
    device, capability = _only(names), _only(capabilities)
    arch = f"sm_{capability.replace('.', '')}" if capability else None
    return Trace("ncu", source, launches, device, arch, (_NOTE,) if long or units else (_NOTE, _NO_UNITS))


def _rows(text: str, source: str) -> Iterator[_Row]:
    lines = text.splitlines()
    start = _header_line(lines)
    if start is None:
        _refuse(source, text)
    reader = csv.reader(lines[start:])
    try:
        header = next(reader)
        for cells in reader:
            line = start + reader.line_num
            if not cells or cells[0].startswith("=="):
                continue
            if len(cells) != len(header):
                raise UsageError(
                    f"{source}:{line}: expected {len(header)} cells as the header has, there are "
                    f"{len(cells)}; the file breaks off or is damaged here"
                )
            yield _Row(line, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise UsageError(f"{source}:{start + reader.line_num}: damaged here ({error})") from None
    if _breaks_off(text, lines, start):
        raise UsageError(f"{source}:{len(lines)}: the file breaks off here, in the middle of a line")


def _breaks_off(text: str, lines: Sequence[str], start: int) -> bool:
    """Tell whether the header is the last line and has no end, or the last cell's quotes have none."""
    if text.endswith(("\n", "\r")):
        return False
    last = lines[-1]
    return start == len(lines) - 1 or (last.startswith('"') and not last.endswith('"'))


def _header_line(lines: Sequence[str]) -> int | None:
    for position, line in enumerate(lines):
        if line.startswith(('"ID",', "ID,")) and all(name in line for name in _IDENTITY):
            return position
    return None


def _refuse(source: str, text: str) -> NoReturn:
    error = _ERROR.search(text)
    said = f"; ncu said: {error[1]}" if error else ""
    raise UsageError(
        f"{source}: expected a table of ncu --csv, with the columns {', '.join(_IDENTITY)}{said}"
    )


def _wide(rows: Sequence[_Row], units: _Row | None, source: str) -> Iterator[_Profiled]:
    """Read a column a counter, with the row of units, unless ncu was told to leave it out."""
    stated = units.cells if units is not None else {}
    if units is not None:
        for name, unit in stated.items():
            require_unit(name, unit, f"{source}:{units.line}")
    for row in rows:
        cells = ((row, name, text, stated.get(name, "")) for name, text in row.cells.items())
        yield _Profiled(row, dict(_counters(source, cells)))


def _long(rows: Sequence[_Row], source: str) -> Iterator[_Profiled]:
    """Read a row a counter."""
    kernels: dict[tuple[str, ...], list[_Row]] = {}
    for row in rows:
        kernels.setdefault((row.cells["ID"], row.cells.get("Process ID", "")), []).append(row)
    for of_kernel in kernels.values():
        cells = [_long_cell(row) for row in of_kernel]
        for row, name, _, unit in cells:
            require_unit(name, unit, f"{source}:{row.line}")
        yield _Profiled(of_kernel[0], dict(_counters(source, cells)))


def _long_cell(row: _Row) -> tuple[_Row, str, str, str]:
    name, unit, value = (row.cells[column] for column in _LONG)
    return row, _DISPLAY_NAMES.get(name, name), value, unit


def _counters(source: str, cells: Iterable[tuple[_Row, str, str, str]]) -> Iterator[tuple[str, float]]:
    for row, name, text, unit in cells:
        if "__" not in name or name.startswith(_ABOUT_MACHINE):
            continue
        words = not (unit or _FIGURE.fullmatch(name))
        if (value := parse_number(text, f"{source}:{row.line}: {name}", words=words)) is not None:
            yield name, value * base_unit_factor(unit)


def _launch(kernel: _Profiled, source: str) -> Launch:
    cells, counters = kernel.row.cells, kernel.counters
    place = f"{source}:{kernel.row.line}"
    if DURATION not in counters:
        raise UsageError(
            f"{place}: kernel {cells['Kernel Name'][:60]!r} has no {DURATION}; "
            f"profile again with it among --metrics"
        )
    if not _CAPABILITY.fullmatch(cells.get("CC", "")):
        raise UsageError(f"{place}: CC: expected a compute capability as in 9.0, not {cells['CC'][:60]!r}")
    return Launch(
        name=cells["Kernel Name"],
        kind=WorkKind.KERNEL,
        duration_ns=counters[DURATION],
        grid=_dimensions(cells["Grid Size"], f"{place}: Grid Size"),
        block=_dimensions(cells["Block Size"], f"{place}: Block Size"),
        registers=_integer(counters.get("launch__registers_per_thread")),
        shared_bytes=_shared_bytes(counters),
        stream=_integer(parse_number(cells.get("Stream", ""), f"{place}: Stream")),
        device=_integer(parse_number(cells.get("Device", ""), f"{place}: Device")),
        counters=counters,
    )


def _shared_bytes(counters: Mapping[str, float]) -> int | None:
    """Add static and dynamic shared memory; ncu's sum of a block holds the driver's share as well."""
    parts = [counters.get(f"launch__shared_mem_per_block_{part}") for part in ("static", "dynamic")]
    return None if None in parts else int(sum(filter(None, parts)))


def _dimensions(cell: str, place: str) -> Dimensions:
    axes = _AXES.fullmatch(cell.strip())
    if axes is None:
        raise UsageError(f"{place}: expected three numbers as in (132, 1, 1), not {cell!r}")
    return int(axes[1]), int(axes[2]), int(axes[3])


def _integer(value: float | None) -> int | None:
    return None if value is None else int(value)


def _only(values: set[str]) -> str | None:
    return next(iter(values)) or None if len(values) == 1 else None
