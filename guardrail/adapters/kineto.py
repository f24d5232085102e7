"""Live sessions of torch's profiler: what the GPU did, by CUPTI's own timestamps."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from guardrail.records.launch import Trace
from guardrail.traces.chrome import read_chrome_trace


def profiled(body: Callable[[], object], repeats: int = 1) -> Trace:
    """Run something under the profiler, and wait for all that it launched.

    Args:
        body: Launches work on the current device.
        repeats: How often to run it.

    Returns:
        Every kernel, copy and fill that the profiler kept, in order of their start. It may have dropped some:
        whoever counts on them counts them.
    """
    torch.cuda.synchronize()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities, acc_events=True) as session:
        for _ in range(repeats):
            body()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        session.export_chrome_trace(str(path))
        return read_chrome_trace(path.read_text(encoding="utf-8"), "torch.profiler")
