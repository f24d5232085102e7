"""Kineto's traces: Chrome's trace event format, as ``torch.profiler`` exports it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from guardrail.errors import UsageError
from guardrail.records.launch import Dimensions, Launch, Trace, WorkKind
from guardrail.traces.ranges import NamedRanges

_KINDS = {
    "kernel": WorkKind.KERNEL,
    "gpu_memcpy": WorkKind.COPY,
    "gpu_memset": WorkKind.FILL,
    # torch before 1.12
    "Kernel": WorkKind.KERNEL,
    "Memcpy": WorkKind.COPY,
    "Memset": WorkKind.FILL,
}
_HOST_CALLS = ("cuda_runtime", "cuda_driver", "Runtime")
_LAUNCH_CALLS = ("LaunchKernel", "GraphLaunch", "LaunchCooperativeKernel")
_NS_PER_US = 1000.0

_Event = Mapping[str, Any]


def read_chrome_trace(text: str, source: str) -> Trace:
    """Read the GPU's work out of a Kineto or Chrome trace.

    Args:
        text: The JSON document; times are microseconds (Trace Event Format, ``ts`` and ``dur``).
        source: What to call it in errors and reports.

    Returns:
        Its kernels, copies and fills in order of their start; none where the trace holds host work alone.

    Raises:
        UsageError: It is no JSON, or JSON that is no trace.
    """
    try:
        return chrome_trace(json.loads(text), source)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{source}:{error.lineno}: expected a complete Chrome trace, and its JSON breaks off or is "
            f"damaged here ({error.msg}); record it again, and let the profiler finish writing"
        ) from None


def chrome_trace(document: Any, source: str) -> Trace:
    """Read the GPU's work out of a trace that is parsed already; see `read_chrome_trace`.

    Raises:
        UsageError: The document is no trace.
    """
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise UsageError(f"{source}: expected a Chrome trace: an object with a list 'traceEvents'")
    complete = [event for event in events if event.get("ph") == "X"]
    work = [event for event in complete if str(event.get("cat")) in _KINDS]
    try:
        regions = _Regions(complete)
        notes = tuple(_notes(complete, work))
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{source}: an annotation or a call of the host is damaged: expected 'ts' and 'dur' in "
            f"microseconds ({error})"
        ) from None
    launches = [_launch(event, regions, source) for event in work]
    launches.sort(key=lambda launch: launch.start_ns or 0.0)
    properties = (document.get("deviceProperties") if isinstance(document, dict) else None) or []
    if not isinstance(properties, list) or not all(isinstance(device, dict) for device in properties):
        raise UsageError(f"{source}: damaged: expected 'deviceProperties' as a list of objects")
    device, arch = _device(properties, {launch.device for launch in launches})
    return Trace("kineto", source, tuple(launches), device, arch, notes)


class _Regions:
    """Finds the annotation that a launch was made under, or that surrounds it on the GPU."""

    def __init__(self, events: Sequence[_Event]) -> None:
        self._ranges = NamedRanges()
        self._calls: dict[Any, tuple[Any, float]] = {}
        for event in events:
            category = event.get("cat")
            if category in ("user_annotation", "gpu_user_annotation"):
                start = float(event.get("ts", 0))
                end = start + float(event.get("dur", 0))
                self._ranges.add(_track(event), start, end, str(event.get("name", "")))
            elif category in _HOST_CALLS and (correlation := _arguments(event).get("correlation")):
                self._calls[correlation] = (_track(event), float(event.get("ts", 0)))

    def around(self, event: _Event) -> str:
        """Name the innermost annotation around a piece of the GPU's work; empty where there is none."""
        call = self._calls.get(_arguments(event).get("correlation"))
        on_host = self._ranges.innermost(*call) if call else ""
        return on_host or self._ranges.innermost(_track(event), float(event.get("ts", 0)))


def _launch(event: _Event, regions: _Regions, source: str) -> Launch:
    arguments = _arguments(event)
    try:
        return Launch(
            name=str(event["name"]),
            kind=_KINDS[event["cat"]],
            duration_ns=float(event["dur"]) * _NS_PER_US,
            start_ns=float(event["ts"]) * _NS_PER_US,
            grid=_dimensions(arguments.get("grid")),
            block=_dimensions(arguments.get("block")),
            registers=_integer(arguments.get("registers per thread")),
            shared_bytes=_integer(arguments.get("shared memory")),
            stream=_integer(arguments.get("stream")),
            device=_integer(arguments.get("device")),
            region=regions.around(event),
            bytes=_integer(arguments.get("bytes")),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{source}: the event {str(event.get('name'))[:60]!r} is damaged: expected a name, 'ts' and "
            f"'dur' in microseconds and whole numbers in 'args' ({type(error).__name__}: {error})"
        ) from None


def _notes(events: Sequence[_Event], work: Sequence[_Event]) -> Iterator[str]:
    """Say how many launches the host made that nothing on the GPU answers to."""
    seen = {_arguments(event).get("correlation") for event in work}
    unanswered = sum(
        event.get("cat") in _HOST_CALLS
        and any(call in str(event.get("name")) for call in _LAUNCH_CALLS)
        and _arguments(event).get("correlation") not in seen
        for event in events
    )
    if unanswered:
        yield (
            f"launches of the host without a kernel here: {unanswered} "
            "(captured into a graph, or lost by the profiler)"
        )


def _device(properties: Sequence[_Event], used: set[int | None]) -> tuple[str | None, str | None]:
    """Name the GPU that the work ran on and its architecture, where there is one answer."""
    chosen = [device for device in properties if device.get("id") in list(used)] or list(properties)
    names = {str(device["name"]) for device in chosen if "name" in device}
    archs = {
        f"sm_{device['computeMajor']}{device['computeMinor']}"
        for device in chosen
        if "computeMajor" in device and "computeMinor" in device
    }
    return (names.pop() if len(names) == 1 else None, archs.pop() if len(archs) == 1 else None)


def _track(event: _Event) -> tuple[Any, Any]:
    return event.get("pid"), event.get("tid")


def _arguments(event: _Event) -> Mapping[str, Any]:
    arguments = event.get("args")
    return arguments if isinstance(arguments, dict) else {}


def _dimensions(value: Any) -> Dimensions | None:
    if value is None:
        return None
    x, y, z = map(int, value)
    return x, y, z


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)
