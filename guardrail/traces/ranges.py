"""Which named range a moment lies in."""

from bisect import bisect_right
from collections.abc import Hashable

_Range = tuple[float, float, str]


class NamedRanges:
    """Named ranges of several threads or streams; those of one thread nest or follow each other."""

    def __init__(self) -> None:
        self._added: dict[Hashable, list[_Range]] = {}
        self._flattened: dict[Hashable, tuple[list[float], list[str]]] = {}

    def add(self, thread: Hashable, start: float, end: float, name: str) -> None:
        """Add one range; `start` and `end` in any unit, the same for all."""
        self._added.setdefault(thread, []).append((start, end, name))
        self._flattened.pop(thread, None)

    def innermost(self, thread: Hashable, moment: float) -> str:
        """Name the innermost range of a thread around a moment; empty where there is none."""
        if thread not in self._added:
            return ""
        if thread not in self._flattened:
            self._flattened[thread] = _flatten(self._added[thread])
        moments, names = self._flattened[thread]
        position = bisect_right(moments, moment) - 1
        return names[position] if position >= 0 else ""


def _flatten(ranges: list[_Range]) -> tuple[list[float], list[str]]:
    """Turn nested ranges into the moments at which the innermost name changes, and that name."""
    moments: list[float] = []
    names: list[str] = []
    opened: list[tuple[float, str]] = []

    def change(moment: float) -> None:
        moments.append(moment)
        names.append(opened[-1][1] if opened else "")

    for start, end, name in sorted(ranges, key=lambda item: (item[0], -item[1])):
        while opened and opened[-1][0] <= start:
            change(opened.pop()[0])
        opened.append((end, name))
        change(start)
    while opened:
        change(opened.pop()[0])
    return moments, names
