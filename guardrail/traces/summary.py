"""Launches grouped into the rows of one table."""

import re
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from guardrail.records.launch import Dimensions, Launch, Trace, WorkKind

_T = TypeVar("_T")
_DRAM_READ, _DRAM_WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
_NS_PER_SECOND = 1e9


class GroupBy(StrEnum):
    """What one row stands for."""

    KERNEL = "kernel"
    """One kernel by its name, or one kind of copy or fill."""
    REGION = "region"
    """One named range."""
    STREAM = "stream"
    """One stream of one device."""


@dataclass(frozen=True, slots=True)
class Row:
    """A group of launches; a figure on which they differ, or that is not known, is None."""

    name: str
    kind: WorkKind | None
    calls: int
    kernels: int
    """Names in the group."""
    total_ns: float
    share: float
    """Of the time of all the trace's launches, 0 to 1."""
    median_ns: float | None
    min_ns: float | None
    max_ns: float | None
    spread: float | None
    """Interquartile range over median."""
    grid: Dimensions | None = None
    block: Dimensions | None = None
    registers: int | None = None
    shared_bytes: int | None = None
    launch_shapes: int = 1
    """Different combinations of grid, block, registers and shared memory."""
    moved_bytes: float | None = None
    """In total."""
    moved: str = ""
    """What those bytes are: ``moved``, ``DRAM``, ``DRAM read`` or ``DRAM written``."""
    bytes_per_second: float | None = None
    counters: dict[str, float] = field(default_factory=dict)
    """The median of each over the group's launches that have it."""
    durations_ns: tuple[float, ...] = ()
    """Of every single call, in launch order; empty where only sums are known."""


def summarise(trace: Trace, group_by: GroupBy = GroupBy.KERNEL, kernel: str = "") -> list[Row]:
    """Group a trace's launches, the longest total first.

    Args:
        trace: What was recorded.
        group_by: What one row stands for.
        kernel: A regular expression; only launches whose name it finds, all of them where empty.
    """
    pattern = re.compile(kernel)
    whole = sum(launch.duration_ns for launch in trace.launches)
    groups: dict[Hashable, list[Launch]] = {}
    for launch in trace.launches:
        if pattern.search(launch.name):
            groups.setdefault(_key(launch, group_by), []).append(launch)
    rows = [_row(launches, group_by, whole) for launches in groups.values()]
    return sorted(rows, key=lambda row: (-row.total_ns, row.name))


def _key(launch: Launch, group_by: GroupBy) -> Hashable:
    match group_by:
        case GroupBy.KERNEL:
            return launch.kind, launch.name
        case GroupBy.REGION:
            return launch.region
        case GroupBy.STREAM:
            return launch.device, launch.stream


def _name(launch: Launch, group_by: GroupBy) -> str:
    match group_by:
        case GroupBy.KERNEL:
            return launch.name
        case GroupBy.REGION:
            return launch.region or "(no region)"
        case GroupBy.STREAM:
            number = "unknown" if launch.stream is None else launch.stream
            return f"device {launch.device or 0}, stream {number}"


def _row(launches: Sequence[Launch], group_by: GroupBy, whole: float) -> Row:
    first = launches[0]
    total = sum(launch.duration_ns for launch in launches)
    singles = all(launch.calls == 1 for launch in launches)
    durations = tuple(launch.duration_ns for launch in launches) if singles else ()
    moved_bytes, moved = _moved(launches)
    return Row(
        name=_name(first, group_by),
        kind=first.kind if group_by is GroupBy.KERNEL else None,
        calls=sum(launch.calls for launch in launches),
        kernels=len({(launch.kind, launch.name) for launch in launches}),
        total_ns=total,
        share=total / whole if whole else 0.0,
        median_ns=statistics.median(durations) if durations else None,
        min_ns=min(durations, default=None),
        max_ns=max(durations, default=None),
        spread=_spread(durations),
        grid=_only(launch.grid for launch in launches),
        block=_only(launch.block for launch in launches),
        registers=_only(launch.registers for launch in launches),
        shared_bytes=_only(launch.shared_bytes for launch in launches),
        launch_shapes=len({(it.grid, it.block, it.registers, it.shared_bytes) for it in launches}),
        moved_bytes=moved_bytes,
        moved=moved,
        bytes_per_second=moved_bytes / total * _NS_PER_SECOND if moved_bytes is not None and total else None,
        counters=_median_counters(launches),
        durations_ns=durations,
    )


def _only(values: Iterable[_T | None]) -> _T | None:
    """Give the one value that all share; None where they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _spread(durations: Sequence[float]) -> float | None:
    median = statistics.median(durations) if durations else 0.0
    if len(durations) < 2 or not median:
        return None
    lower, _, upper = statistics.quantiles(durations, n=4, method="inclusive")
    return (upper - lower) / median


def _moved(launches: Sequence[Launch]) -> tuple[float | None, str]:
    """Add up the first account of moved bytes that every launch of the group gives."""
    for what, account in _ACCOUNTS.items():
        amounts = [account(launch) for launch in launches]
        known = [amount for amount in amounts if amount is not None]
        if len(known) == len(amounts):
            return sum(known), what
    return None, ""


def _dram_bytes(launch: Launch) -> float | None:
    if (both := launch.counters.get("dram__bytes.sum")) is not None:
        return both
    read, written = (launch.counters.get(name) for name in (_DRAM_READ, _DRAM_WRITTEN))
    return None if read is None or written is None else read + written


_ACCOUNTS: Mapping[str, Callable[[Launch], float | None]] = {
    "moved": lambda launch: launch.bytes,
    "DRAM": _dram_bytes,
    "DRAM read": lambda launch: launch.counters.get(_DRAM_READ),
    "DRAM written": lambda launch: launch.counters.get(_DRAM_WRITTEN),
}


def _median_counters(launches: Sequence[Launch]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for launch in launches:
        for name, value in launch.counters.items():
            values.setdefault(name, []).append(value)
    return {name: statistics.median(found) for name, found in values.items()}
