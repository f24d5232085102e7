"""One window of subjects' arms after another. Runs in an execute worker, on the GPU."""

import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from guardrail.adapters.device import executing_gpu
from guardrail.adapters.device_state import sample
from guardrail.adapters.timing_bench import Bench
from guardrail.adapters.timing_windows import warm_up
from guardrail.errors import MeasurementError
from guardrail.probes.timing_session import Place, Window, WindowPlan
from guardrail.records.device_state import DeviceState
from guardrail.rules.spoilers import spoilers


@dataclass(slots=True)
class _Session:
    """A bench that is warm, and how many windows it has measured."""

    seed: int
    places: tuple[Place, ...]
    run_window: Callable[[], Window]
    sample: Callable[[], DeviceState]
    windows: int = 0


_SESSIONS: dict[str, _Session] = {}


def measure_window(plan: WindowPlan, session: str) -> dict[str, Any]:
    """Measure one window; the first of a session compiles, warms up, and draws the inputs.

    Args:
        plan: What every window of the session times.
        session: Name of the session; this process keeps what it has prepared for it.

    Returns:
        Plain data: ``reversed`` where the last arm ran first, the ``window`` with its ``places``, what
        ``spoilers`` there were, and the ``seed`` of the inputs.

    Raises:
        MeasurementError: There is no GPU, an arm is wrong, or the profiler lost a launch.
    """
    if session not in _SESSIONS:
        _SESSIONS[session] = _opened(plan)
    opened = _SESSIONS[session]
    before = opened.sample()
    window = opened.run_window()
    spoilt: Sequence[str] = spoilers(before, opened.sample(), frozenset({os.getpid()}))
    opened.windows += 1
    return {
        "reversed": opened.windows % 2 == 0,
        "window": window,
        "places": opened.places,
        "spoilers": spoilt,
        "seed": opened.seed,
    }


def _opened(plan: WindowPlan) -> _Session:
    gpu = executing_gpu()
    if gpu is None:
        raise MeasurementError("there is no GPU to time on")
    seed = secrets.randbits(31)
    bench = Bench(plan, seed)
    warm_up(bench.exercise, lambda: sample(gpu.uuid))
    torch.cuda.synchronize()
    return _Session(seed, bench.places(), bench.window, lambda: sample(gpu.uuid))
