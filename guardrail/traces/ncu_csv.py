"""Nsight Compute's tables (``ncu --csv``): page raw, a column a counter, and page details, a row each."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from guardrail.errors import UsageError
from guardrail.records.launch import Dimensions, Launch, Trace, WorkKind
from guardrail.traces.ncu_values import base_unit_factor, parse_number

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
        UsageError: There is no table, it breaks off, or a kernel has no duration.
    """
    rows = list(_rows(text, source))
    long = rows and all(name in rows[0].cells for name in _LONG)
    profiled = list(_long(rows, source) if long else _wide(rows, source))
    launches = tuple(_launch(kernel, source) for kernel in profiled)
    names = {kernel.row.cells.get("device__attribute_display_name", "") for kernel in profiled}
    capabilities = {kernel.row.cells.get("CC", "") for kernel in profiled}
    device, capability = _only(names), _only(capabilities)
    arch = f"sm_{capability.replace('.', '')}" if capability else None
    return Trace("ncu", source, launches, device, arch, (_NOTE,))


def _rows(text: str, source: str) -> Iterator[_Row]:
    lines = text.splitlines()
    start = _header_line(lines)
    if start is None:
        _refuse(source, text)
    reader = csv.reader(lines[start:])
    header = next(reader)
    for cells in reader:
        line = start + reader.line_num
        if not cells or cells[0].startswith("=="):
            continue
        if len(cells) != len(header):
            raise UsageError(
                f"{source}:{line}: expected {len(header)} cells as the header has, there are {len(cells)}; "
                "the file breaks off or is damaged here"
            )
        yield _Row(line, dict(zip(header, cells, strict=True)))


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


def _wide(rows: Sequence[_Row], source: str) -> Iterator[_Profiled]:
    """Read a column a counter; the first row holds the units, unless ncu was told to leave them out."""
    if not rows:
        return
    has_units = not rows[0].cells["ID"]
    units = rows[0].cells if has_units else {}
    for row in rows[has_units:]:
        yield _Profiled(
            row, dict(_counters(source, ((row, k, v, units.get(k, "")) for k, v in row.cells.items())))
        )


def _long(rows: Sequence[_Row], source: str) -> Iterator[_Profiled]:
    """Read a row a counter."""
    kernels: dict[tuple[str, ...], list[_Row]] = {}
    for row in rows:
        kernels.setdefault((row.cells["ID"], row.cells.get("Process ID", "")), []).append(row)
    for of_kernel in kernels.values():
        yield _Profiled(of_kernel[0], dict(_counters(source, map(_long_cell, of_kernel))))


def _long_cell(row: _Row) -> tuple[_Row, str, str, str]:
    name, unit, value = (row.cells[column] for column in _LONG)
    return row, _DISPLAY_NAMES.get(name, name), value, unit


def _counters(source: str, cells: Iterable[tuple[_Row, str, str, str]]) -> Iterator[tuple[str, float]]:
    for row, name, text, unit in cells:
        if "__" not in name or name.startswith(_ABOUT_MACHINE):
            continue
        if (value := parse_number(text, f"{source}:{row.line}: {name}")) is not None:
            yield name, value * base_unit_factor(unit)


def _launch(kernel: _Profiled, source: str) -> Launch:
    cells, counters = kernel.row.cells, kernel.counters
    if DURATION not in counters:
        raise UsageError(
            f"{source}:{kernel.row.line}: kernel {cells['Kernel Name'][:60]!r} has no {DURATION}; "
            f"profile again with it among --metrics"
        )
    place = f"{source}:{kernel.row.line}"
    return Launch(
        name=cells["Kernel Name"],
        kind=WorkKind.KERNEL,
        duration_ns=counters[DURATION],
        grid=_dimensions(cells["Grid Size"], f"{place}: Grid Size"),
        block=_dimensions(cells["Block Size"], f"{place}: Block Size"),
        registers=_integer(counters.get("launch__registers_per_thread")),
        shared_bytes=_shared_bytes(counters),
        stream=_integer(parse_number(cells.get("Stream", ""), place)),
        device=_integer(parse_number(cells.get("Device", ""), place)),
        counters=counters,
    )


def _shared_bytes(counters: Mapping[str, float]) -> int | None:
    """Add static and dynamic shared memory; ncu's sum of a block holds the driver's share as well."""
    parts = [counters.get(f"launch__shared_mem_per_block_{part}") for part in ("static", "dynamic")]
    return None if None in parts else int(sum(filter(None, parts)))


def _dimensions(cell: str, place: str) -> Dimensions:
    numbers = [int(number) for number in re.findall(r"\d+", cell)]
    if len(numbers) != 3:
        raise UsageError(f"{place}: expected three numbers as in (132, 1, 1), not {cell!r}")
    return numbers[0], numbers[1], numbers[2]


def _integer(value: float | None) -> int | None:
    return None if value is None else int(value)


def _only(values: set[str]) -> str | None:
    return next(iter(values)) or None if len(values) == 1 else None
