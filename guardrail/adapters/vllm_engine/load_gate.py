"""Waiting for a quiet machine before an engine is booted."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from guardrail.adapters.device import executing_gpu
from guardrail.adapters.device_state import sample
from guardrail.records.device_state import DeviceState
from guardrail.rules.tenants import tenants

_POLL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Gate:
    """When a machine is quiet enough to measure on."""

    largest_load: float
    """Load average of the host over its processors."""
    wait_seconds: float
    """How long to wait for it."""


def wait_until_quiet(gate: Gate, with_gpu: bool, sleep: Callable[[float], None] = time.sleep) -> str:
    """Wait until the host's load has fallen and nobody else computes on the GPU.

    Args:
        gate: What is quiet enough, and how long to wait.
        with_gpu: Whether to look at the GPU; a running server is a tenant of it.
        sleep: Passes time.

    Returns:
        Why the machine is still not quiet; empty where it is.
    """
    waited = 0.0
    while True:
        reason = _noise(_state(with_gpu), gate.largest_load)
        if not reason or waited >= gate.wait_seconds:
            return f"{reason} It was not quiet within {gate.wait_seconds:g} s." if reason else ""
        sleep(_POLL_SECONDS)
        waited += _POLL_SECONDS


def _state(with_gpu: bool) -> DeviceState:
    gpu = executing_gpu() if with_gpu else None
    if gpu is not None:
        return sample(gpu.uuid)
    return DeviceState(seconds=time.monotonic(), load_average=os.getloadavg()[0], processors=os.cpu_count())


def _noise(state: DeviceState, largest_load: float) -> str:
    load, processors = state.load_average, state.processors
    if load is not None and processors and load > largest_load * processors:
        return f"The host has a load of {load:.1f} on {processors} processors."
    return next((found.what for found in tenants(state, state, frozenset())), "")
