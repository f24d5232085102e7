"""What happened to a GPU between two samples that makes the figures of that window worthless."""

from collections.abc import Iterator

from guardrail.records.device_state import DeviceState
from guardrail.records.spoiler import Spoiler
from guardrail.rules.tenants import tenants

CLOCK_CHANGE = 0.03
"""Largest part of a clock that may come or go within a window: four of an H200's 15 MHz steps."""

_SLOWDOWNS = {
    "hw-thermal-slowdown": "The GPU is so hot that its hardware slows the clocks",
    "sw-thermal-slowdown": "The GPU is so hot that its driver slows the clocks",
    "hw-power-brake": "The server's power supply brakes the GPU",
    "hw-slowdown": "The hardware slows the clocks, for heat or for power",
    "board-limit": "A limit of the board slows the clocks",
    "reliability": "The driver slows the clocks to keep the voltage safe",
    "sync-boost": "The clocks are held down to those of another GPU of the same sync boost group",
}
_HEAT = ("hw-thermal-slowdown", "sw-thermal-slowdown")
_SPECIFIC = ("hw-thermal-slowdown", "hw-power-brake")
_COOL = "Let it cool and look at its airflow, or measure in shorter bursts."
_SEE_REASONS = "Measure when 'nvidia-smi -q -d PERFORMANCE' no longer shows it."


def spoilers(before: DeviceState, after: DeviceState, own_pids: frozenset[int]) -> tuple[str, ...]:
    """Say what spoiled the window between two samples that were taken while its kernels ran.

    A power cap alone is not a spoiler: many cards run into theirs at full load, and hold the clock that it
    leaves them. It is one where the clock moved under it.

    Args:
        before: The sample at the window's start, clocks already warm.
        after: The sample at its end.
        own_pids: Processes of the measurement that hold a context on the GPU; none before it has begun.

    Returns:
        One full sentence for each, with figures; none where nothing did.
    """
    found = (*gpu_spoilers(before, after, own_pids), *host_spoilers(before, after))
    return tuple(spoiler.what for spoiler in found)


def gpu_spoilers(before: DeviceState, after: DeviceState, own_pids: frozenset[int]) -> tuple[Spoiler, ...]:
    """Find what spoiled a window on the GPU, each with what to do about it; arguments as for `spoilers`."""
    return (
        *_slowdowns(before, after),
        *_clock_changes(before, after),
        *_limit_change(before, after),
        *tenants(before, after, own_pids),
    )


def host_spoilers(before: DeviceState, after: DeviceState) -> Iterator[Spoiler]:
    """Find what spoiled a window on the host: more work than it has processors."""
    loads = [state.load_average for state in (before, after) if state.load_average is not None]
    if loads and after.processors and max(loads) > after.processors:
        yield Spoiler(
            f"The host has a load of {max(loads):.1f} on {after.processors} processors, so launches wait.",
            "Wait for the other work on this host to end (top shows it), or measure kernels in CUDA graphs.",
        )


def _slowdowns(before: DeviceState, after: DeviceState) -> Iterator[Spoiler]:
    seen = {reason: state for state in (before, after) for reason in state.clock_event_reasons}
    if not seen.keys().isdisjoint(_SPECIFIC):
        seen.pop("hw-slowdown", None)  # set beside each of them, and says less
    for reason, sentence in _SLOWDOWNS.items():
        if reason in seen:
            yield Spoiler(
                f"{sentence} ({_situation(seen[reason])}).", _COOL if reason in _HEAT else _SEE_REASONS
            )


def _situation(state: DeviceState) -> str:
    """Give the figures around a clock: ``1410 MHz, 88 °C, 690 of 700 W``."""
    known = [
        None if state.sm_clock_mhz is None else f"{state.sm_clock_mhz} MHz",
        None if state.temperature_celsius is None else f"{state.temperature_celsius} °C",
        _power(state),
    ]
    return ", ".join(filter(None, known)) or "the driver gives no figures"


def _power(state: DeviceState) -> str | None:
    if state.power_watts is None:
        return None
    limit = "" if state.power_limit_watts is None else f" of {state.power_limit_watts:.0f}"
    return f"{state.power_watts:.0f}{limit} W"


def _clock_changes(before: DeviceState, after: DeviceState) -> Iterator[Spoiler]:
    clocks = (
        ("SM", before.sm_clock_mhz, after.sm_clock_mhz),
        ("memory", before.memory_clock_mhz, after.memory_clock_mhz),
    )
    for name, old, new in clocks:
        if not old or new is None or abs(new - old) <= CLOCK_CHANGE * old:
            continue
        capped = "sw-power-cap" in after.clock_event_reasons and new < old
        cause = f", held by the power cap ({_power(after) or 'power unknown'})" if capped else ""
        remedy = (
            "Warm up for longer, until the cap has settled, or lock the clock below it: "
            "nvidia-smi --lock-gpu-clocks."
            if capped
            else "Warm up until the clocks settle, or lock them: nvidia-smi --lock-gpu-clocks."
        )
        yield Spoiler(
            f"The {name} clock went from {old} to {new} MHz ({new / old - 1:+.1%}) within the window{cause}; "
            f"up to {CLOCK_CHANGE:.0%} is let pass.",
            remedy,
        )


def _limit_change(before: DeviceState, after: DeviceState) -> Iterator[Spoiler]:
    old, new = before.power_limit_watts, after.power_limit_watts
    if old is not None and new is not None and old != new:
        yield Spoiler(
            f"The power limit was changed from {old:.0f} to {new:.0f} W within the window.",
            "Find who sets it (nvidia-smi --power-limit, a fleet manager), and measure again.",
        )
