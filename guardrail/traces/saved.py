"""A trace as JSON, as ``guardrail profile --json`` writes it and reads it again."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from guardrail.errors import UsageError
from guardrail.records.launch import Launch, Trace

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

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


def restore_trace(plain: Any) -> Trace:
    """Undo `plain_trace`.

    Raises:
        ValueError: It is not what `plain_trace` gives; the fields that are not are named.
    """
    from pydantic import ValidationError

    try:
        (trace,) = _adapter().validate_json(json.dumps([plain]), strict=True)
    except ValidationError as error:
        raise ValueError(_first_fault(error)) from None
    return trace


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
        return dataclasses.replace(restore_trace(document.get("trace")), source=source)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source}: a damaged profile ({error})") from None


def _adapter() -> "TypeAdapter[tuple[Trace]]":
    # pydantic hands a configuration down to dataclasses that have none, but not to the outermost type.
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(tuple[Trace], config=ConfigDict(extra="forbid", allow_inf_nan=False))


def _first_fault(error: "ValidationError") -> str:
    fault = error.errors(include_url=False)[0]
    place = ".".join(map(str, ("trace", *fault["loc"][1:])))
    return f"{place}: {fault['msg']}"
