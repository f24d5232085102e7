"""Nsight Systems' reports, exported to SQLite (``nsys export --type sqlite``).

Tables and columns: "SQLite Schema Reference" of the Nsight Systems documentation. Tables are made only for
what was recorded, and columns come and go with versions, so what is missing reads as None.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from guardrail.errors import UsageError
from guardrail.records.launch import Launch, Trace, WorkKind
from guardrail.traces.ranges import NamedRanges

_MAGIC = b"SQLite format 3\x00"
_PREFIX = "CUPTI_ACTIVITY_KIND_"
_SHARED_PARTS = ("staticSharedMemory", "dynamicSharedMemory")
_PUSH_POP_RANGE = 59
_PROCESS = ~0xFFFFFF
"""The bits of a global thread id that name its process."""
_COPIES = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
"""CUpti_ActivityMemcpyKind."""

_Record = Mapping[str, Any]


def is_sqlite(head: bytes) -> bool:
    """Tell an SQLite database by its first bytes."""
    return head.startswith(_MAGIC)


def read_nsys_sqlite(path: Path, source: str) -> Trace:
    """Read the GPU's work out of an export.

    Args:
        path: The database.
        source: What to call it in errors and reports.

    Returns:
        Its kernels, copies and fills in order of their start; an NVTX range around a launch is its region.

    Raises:
        UsageError: It is no database, a damaged one, or not one of nsys.
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return _Export(connection, source).trace()
    except sqlite3.Error as error:
        raise UsageError(
            f"{source}: expected an SQLite export of nsys, and it cannot be read ({error}); export it again: "
            "nsys export --type sqlite"
        ) from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{source}: damaged: a row lacks a number or has something else in its place "
            f"({type(error).__name__}: {error}); export it again: nsys export --type sqlite"
        ) from None


class _Export:
    """One open database."""

    def __init__(self, connection: sqlite3.Connection, source: str) -> None:
        self._connection = connection
        self._source = source
        self._tables = {
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        }
        if "StringIds" not in self._tables:
            raise UsageError(
                f"{source}: a database, and not of nsys: expected the tables StringIds and {_PREFIX}KERNEL"
            )
        self._strings = {
            key: str(value)
            for key, value in connection.execute("SELECT id, value FROM StringIds")
            if value is not None
        }

    def trace(self) -> Trace:
        """Read everything."""
        regions = self._regions()
        launches = [*self._kernels(regions), *self._transfers(regions)]
        launches.sort(key=lambda launch: launch.start_ns or 0.0)
        device, arch = self._device({launch.device for launch in launches})
        return Trace("nsys", self._source, tuple(launches), device, arch, tuple(self._notes()))

    def _kernels(self, regions: "_Regions") -> Iterator[Launch]:
        for row in self._rows(f"{_PREFIX}KERNEL"):
            name = self._strings.get(row.get("demangledName") or row.get("shortName") or -1)
            shared = [row[part] for part in _SHARED_PARTS if row.get(part) is not None]
            yield Launch(
                name=name or "(unnamed)",
                kind=WorkKind.KERNEL,
                duration_ns=float(row["end"] - row["start"]),
                start_ns=float(row["start"]),
                grid=_dimensions(row, "grid"),
                block=_dimensions(row, "block"),
                registers=_integer(row, "registersPerThread"),
                shared_bytes=sum(shared) if shared else None,
                stream=_integer(row, "streamId"),
                device=_integer(row, "deviceId"),
                region=regions.around(row),
            )

    def _transfers(self, regions: "_Regions") -> Iterator[Launch]:
        for kind, table in ((WorkKind.COPY, "MEMCPY"), (WorkKind.FILL, "MEMSET")):
            for row in self._rows(_PREFIX + table):
                direction = _COPIES.get(row.get("copyKind", 0), f"kind {row.get('copyKind')}")
                yield Launch(
                    name=f"Memcpy {direction}" if kind is WorkKind.COPY else "Memset",
                    kind=kind,
                    duration_ns=float(row["end"] - row["start"]),
                    start_ns=float(row["start"]),
                    stream=_integer(row, "streamId"),
                    device=_integer(row, "deviceId"),
                    region=regions.around(row),
                    bytes=_integer(row, "bytes"),
                )

    def _regions(self) -> "_Regions":
        ranges, calls = NamedRanges(), {}
        for row in self._rows("NVTX_EVENTS"):
            if row.get("eventType") == _PUSH_POP_RANGE and row.get("end") is not None:
                text = row.get("text") or self._strings.get(row.get("textId") or -1, "")
                ranges.add(row.get("globalTid"), row["start"], row["end"], str(text))
        for row in self._rows(f"{_PREFIX}RUNTIME"):
            if (thread := row.get("globalTid")) is not None:
                calls[thread & _PROCESS, row.get("correlationId")] = (thread, float(row["start"]))
        return _Regions(ranges, calls)

    def _device(self, used: set[int | None]) -> tuple[str | None, str | None]:
        rows = list(self._rows("TARGET_INFO_GPU"))
        chosen = [row for row in rows if row.get("id") in used] or rows
        names = {str(row["name"]) for row in chosen if row.get("name")}
        archs = {
            f"sm_{row['computeMajor']}{row['computeMinor']}" for row in chosen if row.get("computeMajor")
        }
        return (names.pop() if len(names) == 1 else None, archs.pop() if len(archs) == 1 else None)

    def _notes(self) -> Iterator[str]:
        graphs = [row["end"] - row["start"] for row in self._rows(f"{_PREFIX}GRAPH_TRACE")]
        if graphs:
            yield (
                f"{len(graphs)} replays of CUDA graphs ({sum(graphs) / 1e6:,.3f} ms) were recorded whole "
                "and are not in the table; record with --cuda-graph-trace=node to see their kernels"
            )

    def _rows(self, table: str) -> Iterator[_Record]:
        if table in self._tables:
            # The name is one of those above, found in the database.
            for row in self._connection.execute(f"SELECT * FROM {table}"):
                yield dict(row)


class _Regions:
    """Finds the NVTX range that a launch was made under."""

    def __init__(self, ranges: NamedRanges, calls: Mapping[tuple[int, Any], tuple[int, float]]) -> None:
        self._ranges = ranges
        self._calls = calls

    def around(self, row: _Record) -> str:
        call = self._calls.get(((row.get("globalPid") or 0) & _PROCESS, row.get("correlationId")))
        return self._ranges.innermost(*call) if call else ""


def _integer(row: _Record, name: str) -> int | None:
    value = row.get(name)
    return None if value is None else int(value)


def _dimensions(row: _Record, name: str) -> tuple[int, int, int] | None:
    x, y, z = (row.get(f"{name}{axis}") for axis in "XYZ")
    return None if x is None or y is None or z is None else (int(x), int(y), int(z))
