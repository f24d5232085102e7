"""Times an operation's arms. Runs in an execute worker, on the GPU."""

import os
import secrets

import torch

from guardrail.adapters.device import executing_gpu
from guardrail.adapters.device_state import sample
from guardrail.adapters.timing_bench import Bench
from guardrail.adapters.timing_windows import collect, warm_up
from guardrail.errors import MeasurementError
from guardrail.probes.timing_session import Session, TimingPlan
from guardrail.rules.spoilers import spoilers


def time_arms(plan: TimingPlan) -> Session:
    """Measure windows of a plan on fresh random inputs.

    Args:
        plan: What to time, how, and until when.

    Raises:
        MeasurementError: There is no GPU, an arm is wrong, or the profiler lost a launch.
    """
    gpu = executing_gpu()
    if gpu is None:
        raise MeasurementError("there is no GPU to time on")
    seed = secrets.randbits(31)
    bench = Bench(plan.windows, seed)
    own = frozenset({os.getpid()})

    warm_up(bench.exercise, lambda: sample(gpu.uuid))
    torch.cuda.synchronize()
    return collect(
        plan,
        bench.places(),
        bench.window,
        lambda: sample(gpu.uuid),
        lambda before, after: spoilers(before, after, own),
        seed,
    )
