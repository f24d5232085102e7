"""Who else used a GPU between two samples."""

from collections.abc import Iterator

from guardrail.records.device_state import DeviceState, GpuProcess
from guardrail.records.spoiler import Spoiler
from guardrail.rules.units import gibibytes

STRAY_BYTES = 256 << 20
"""Memory that comes or goes in no listed process, above which it is a tenant's: less than a CUDA context."""

HIDDEN_TENANT_BYTES = 2 << 30
"""Memory in no listed process, above which it is a hidden tenant's: more than a desktop's."""

BUSY_PERCENT = 5
"""Utilization of a GPU that runs nothing of ours, from which on it is somebody else's."""

_ON_THE_HOST = "nvidia-smi on the host names the processes."


def tenants(before: DeviceState, after: DeviceState, own_pids: frozenset[int]) -> Iterator[Spoiler]:
    """Find the other tenants of a GPU: by pid, by number, by memory or by utilization, as far as it is shown.

    Args:
        before: The sample at a window's start.
        after: The sample at its end.
        own_pids: Processes of the measurement that hold a context on the GPU.
    """
    others = _others(before, after, own_pids)
    for process in others:
        memory = "" if process.memory_bytes is None else f" with {gibibytes(process.memory_bytes)}"
        yield Spoiler(
            f"Process {process.pid} computes on this GPU too{memory}.",
            f"Stop it or choose another GPU; 'ps -p {process.pid}' names it where it is not in a container.",
        )
    if others:
        return
    yield from _nameless_processes(before, after, own_pids)
    yield from _nameless_memory(before, after, own_pids)
    if not own_pids and (after.utilization_percent or 0) >= BUSY_PERCENT:
        yield Spoiler(
            f"The GPU is busy {after.utilization_percent}% of the time with work that is not ours.",
            f"Wait for it to end, or choose another GPU; {_ON_THE_HOST}",
        )


def _listed(state: DeviceState) -> dict[int, GpuProcess]:
    return {process.pid: process for process in state.processes or ()}


def _pids_are_ours_to_read(before: DeviceState, after: DeviceState, own_pids: frozenset[int]) -> bool:
    """Tell whether the driver lists pids as this process sees them; in a container it may give the host's."""
    return not own_pids or not own_pids.isdisjoint({*_listed(before), *_listed(after)})


def _others(before: DeviceState, after: DeviceState, own_pids: frozenset[int]) -> list[GpuProcess]:
    if not _pids_are_ours_to_read(before, after, own_pids):
        return []
    listed = _listed(before) | _listed(after)
    return [process for pid, process in sorted(listed.items()) if pid not in own_pids]


def _nameless_processes(
    before: DeviceState, after: DeviceState, own_pids: frozenset[int]
) -> Iterator[Spoiler]:
    """Count processes where the driver gives pids of another namespace."""
    if _pids_are_ours_to_read(before, after, own_pids):
        return
    most = max((before, after), key=lambda state: len(_listed(state)))
    if len(_listed(most)) > len(own_pids):
        pids = ", ".join(map(str, _listed(most)))
        yield Spoiler(
            f"{len(_listed(most))} processes compute on this GPU, and {len(own_pids)} of them at most "
            f"is this measurement's (pids of the host: {pids}).",
            f"Stop the others or choose another GPU; {_ON_THE_HOST}",
        )


def _nameless_memory(before: DeviceState, after: DeviceState, own_pids: frozenset[int]) -> Iterator[Spoiler]:
    """Compare memory in use with what the listed processes hold: a container is not shown the others'."""
    old, new = _unlisted_bytes(before), _unlisted_bytes(after)
    if old is None or new is None:
        return
    ours_is_listed = _known_memory(after) and not own_pids.isdisjoint(_listed(after))
    remedy = f"Another container may use this GPU; {_ON_THE_HOST}"
    if new >= HIDDEN_TENANT_BYTES and (ours_is_listed or not own_pids):
        yield Spoiler(
            f"{gibibytes(new)} of the GPU's memory are in use by no process that the driver lists.", remedy
        )
    elif abs(new - old) >= STRAY_BYTES:
        verb = "appeared" if new > old else "was freed"
        yield Spoiler(
            f"{gibibytes(abs(new - old))} of the GPU's memory {verb} within the window, "
            "in no process that the driver lists.",
            remedy,
        )


def _known_memory(state: DeviceState) -> bool:
    return all(process.memory_bytes is not None for process in state.processes or ())


def _unlisted_bytes(state: DeviceState) -> int | None:
    """Subtract what the listed processes hold from the memory in use; None where either is not known."""
    held = [process.memory_bytes for process in state.processes or ()]
    if state.memory_used_bytes is None:
        return None
    return state.memory_used_bytes - sum(size for size in held if size is not None)
