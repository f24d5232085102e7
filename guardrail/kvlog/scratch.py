"""Lines on attention scratch: those of guardrail's pool, and of the patched engine that came before it."""

import re
from dataclasses import dataclass

_ALLOCATED = (
    re.compile(
        r"int4 split-KV scratch: \d+ query tokens for \d+ query heads, "
        r"(?P<count>\d+) slots of (?P<unit>\d+) B, .*?"
        r"(?:(?P<profiled>inside the memory profile)|after the memory profile)"
    ),
    re.compile(
        r"int4 3D scratch: capacity=(?P<count>\d+) query tokens \(.*: (?P<unit>\d+) B/row, [\d.]+ MiB"
        r"(?:, allocated at (?:.*?\((?P<profiled>inside the memory profile)|.*)|(?P<own> for this instance))"
    ),
)
_ADOPTED = (
    re.compile(r"int4 split-KV scratch: a metadata builder adopts the set of \d+ query tokens"),
    re.compile(r"int4 3D scratch: capacity=\d+ query tokens adopted by the metadata builder"),
)


@dataclass(frozen=True, slots=True)
class ScratchLine:
    """One set of scratch that was allocated, or a metadata builder that adopted one."""

    bytes: int = 0
    profiled: bool = False
    """Whether the memory profile, and so the KV budget, knows of the bytes."""
    pooled: bool = True
    """Whether the set outlives the builder that made it."""
    adopted: bool = False


def read_scratch(text: str) -> ScratchLine | None:
    """Read one message; None where it is about something else."""
    if any(pattern.search(text) for pattern in _ADOPTED):
        return ScratchLine(adopted=True)
    for pattern in _ALLOCATED:
        if found := pattern.search(text):
            groups = found.groupdict()
            return ScratchLine(
                bytes=int(groups["count"]) * int(groups["unit"]),
                profiled=groups["profiled"] is not None,
                pooled=groups.get("own") is None,
            )
    return None
