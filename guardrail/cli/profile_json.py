"""Rows of a profile and of a comparison as plain data."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from guardrail.cli.profile_figures import Target, residency
from guardrail.records.launch import Trace
from guardrail.traces.compare import TraceChange
from guardrail.traces.summary import Row


def plain_row(row: Row, target: Target) -> dict[str, Any]:
    """Give a row with the blocks that fit an SM; its samples are the trace's launches."""
    plain = dataclasses.asdict(row)
    del plain["durations_ns"]
    resident = residency(row, target)
    return plain | {
        "blocks_per_sm": resident.blocks_per_sm if resident else None,
        "limited_by": resident.limited_by if resident else None,
    }


def changes_to_json(changes: Sequence[TraceChange], old: Trace, new: Trace) -> str:
    """Write a comparison as one object."""
    return json.dumps(
        {
            "before": _origin(old),
            "after": _origin(new),
            "changes": [
                {
                    "name": change.name,
                    "change": change.kind,
                    "delta_ns": change.delta_ns,
                    "before": _times(change.old),
                    "after": _times(change.new),
                }
                for change in changes
            ],
        },
        indent=1,
    )


def _origin(trace: Trace) -> dict[str, Any]:
    total = sum(launch.duration_ns for launch in trace.launches)
    return {"tool": trace.tool, "source": trace.source, "device": trace.device, "total_ns": total}


def _times(row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    names = ("kind", "calls", "total_ns", "median_ns", "min_ns", "max_ns", "spread")
    return {name: getattr(row, name) for name in names}
