"""A trace as JSON, as ``guardrail profile --json`` writes it and reads it again."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from guardrail.errors import UsageError
from guardrail.records.launch import Dimensions, Launch, Trace, WorkKind

FORMAT = "guardrail-profile"
_VERSION = 1
_DEFAULTS = {
    field.name: field.default
    for field in dataclasses.fields(Launch)
    if field.default is not dataclasses.MISSING
} | {"counters": {}}


def is_saved(document: Any) -> bool:
    """Tell whether a JSON document was written by ``guardrail profile --json``."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def plain_trace(trace: Trace) -> dict[str, Any]:
    """Turn a trace into plain data; what a launch does not tell is left out."""
    launches = [
        {
            name: value
            for name, value in dataclasses.asdict(launch).items()
            if value != _DEFAULTS.get(name, ...)
        }
        for launch in trace.launches
    ]
    return {**dataclasses.asdict(dataclasses.replace(trace, launches=())), "launches": launches}


def restore_trace(plain: Mapping[str, Any]) -> Trace:
    """Undo `plain_trace`.

    Raises:
        KeyError, TypeError, ValueError: It is not what `plain_trace` gives.
    """
    launches = tuple(_launch(launch) for launch in plain["launches"])
    return Trace(**{**plain, "launches": launches, "notes": tuple(plain["notes"])})


def to_json(trace: Trace, rows: Sequence[Mapping[str, Any]]) -> str:
    """Write a trace and the table that was made of it."""
    document = {"format": FORMAT, "version": _VERSION, "rows": list(rows), "trace": plain_trace(trace)}
    return json.dumps(document, indent=1)


def saved_trace(document: Mapping[str, Any], source: str) -> Trace:
    """Read the trace back.

    Raises:
        UsageError: The document is of another version or damaged.
    """
    if document.get("version") != _VERSION:
        raise UsageError(
            f"{source}: expected version {_VERSION} of a saved profile, and this one is "
            f"{document.get('version')!r}; write it again with this guardrail"
        )
    try:
        return dataclasses.replace(restore_trace(document["trace"]), source=source)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{source}: a damaged profile ({type(error).__name__}: {error})") from None


def _launch(plain: Mapping[str, Any]) -> Launch:
    return Launch(
        **{
            **plain,
            "kind": WorkKind(plain["kind"]),
            "grid": _dimensions(plain.get("grid")),
            "block": _dimensions(plain.get("block")),
        }
    )


def _dimensions(value: Sequence[int] | None) -> Dimensions | None:
    if value is None:
        return None
    x, y, z = value
    return x, y, z
