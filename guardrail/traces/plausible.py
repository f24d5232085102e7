"""Figures that no launch can have, whoever wrote the file."""

from collections.abc import Iterator

from guardrail.errors import UsageError
from guardrail.records.launch import Launch, Trace

_MOST = 2.0**64
"""Profilers count in 64 bits."""


def require_plausible(trace: Trace) -> None:
    """Refuse a trace with a figure that nothing on a GPU can have.

    Raises:
        UsageError: It has one; the launch and the figure are named.
    """
    for launch in trace.launches:
        for fault in _faults(launch):
            raise UsageError(f"{trace.source}: damaged: {fault}")


def _faults(launch: Launch) -> Iterator[str]:
    name = repr(launch.name[:60])
    if not 0 <= launch.duration_ns < _MOST:
        yield f"{name} took {launch.duration_ns:g} ns; expected 0 or more"
    for what, axes in (("grid", launch.grid), ("block", launch.block)):
        if axes is not None and not all(1 <= axis < _MOST for axis in axes):
            yield f"the {what} of {name} is {axes}; expected 1 or more on every axis"
    for what, count, least in (
        ("registers", launch.registers, 0),
        ("shared_bytes", launch.shared_bytes, 0),
        ("bytes", launch.bytes, 0),
        ("calls", launch.calls, 1),
    ):
        if count is not None and not least <= count < _MOST:
            yield f"{what} of {name} is {count}; expected {least} or more"
    for counter, value in launch.counters.items():
        if not abs(value) < _MOST:
            yield f"{counter} of {name} is {value:g}; expected a number of 64 bits"
