"""Triton Proton's profiles: a tree of scopes in JSON (``.hatchet``), each kernel with its calls added up."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from guardrail.errors import UsageError
from guardrail.records.launch import Launch, Trace, WorkKind

_TIME = "time (ns)"
_OWN_SCOPE = "__proton_launch_metadata"
"""Where Proton puts kernels that only computed the figures of another one's launch."""
_NOTE = "Proton adds the calls of a kernel up: there is no median, no spread and no launch size"


def is_proton(document: Any) -> bool:
    """Tell whether a JSON document is a Proton profile: a list that begins with a tree of frames."""
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], dict)
        and {"children", "frame"} <= document[0].keys()
    )


def read_proton(document: Any, source: str) -> Trace:
    """Read a Proton profile.

    Args:
        document: The parsed JSON.
        source: What to call it in errors and reports.

    Returns:
        Each of its kernels once for each scope, `Launch.calls` telling how often it ran there.

    Raises:
        UsageError: It is damaged, or holds no times.
    """
    root = document[0]
    try:
        launches = tuple(_launches(root, ""))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{source}: damaged: expected 'frame', 'metrics' and 'children' in every node of the tree "
            f"({type(error).__name__}: {error})"
        ) from None
    if not launches and "cycles" in json.dumps(root):
        raise UsageError(f"{source}: holds cycles inside kernels; expected times of kernels ({_TIME!r})")
    return Trace("proton", source, launches, None, _arch(document[1:]), (_NOTE,))


def _launches(node: Mapping[str, Any], scope: str) -> Iterator[Launch]:
    name, metrics = str(node["frame"]["name"]), node["metrics"]
    if name == _OWN_SCOPE:
        return
    calls = int(metrics.get("count", 0))
    if calls and _TIME in metrics:
        moved = metrics.get("bytes")
        yield Launch(
            name=name,
            kind=WorkKind.KERNEL,
            duration_ns=float(metrics[_TIME]),
            device=int(metrics["device_id"]) if "device_id" in metrics else None,
            region=scope,
            bytes=None if moved is None else int(moved),
            calls=calls,
        )
    within = "" if name == "ROOT" else name
    for child in node["children"]:
        yield from _launches(child, within)


def _arch(device_tables: list[Any]) -> str | None:
    """Read the architecture off the table of devices, where all of them agree."""
    devices = [
        device
        for table in device_tables
        if isinstance(table, dict) and isinstance(table.get("CUDA"), dict)
        for device in table["CUDA"].values()
    ]
    archs = {str(device["arch"]) for device in devices if isinstance(device, dict) and "arch" in device}
    return f"sm_{archs.pop()}" if len(archs) == 1 else None
