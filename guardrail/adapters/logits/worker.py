"""Running one task of a dump in a worker."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guardrail.adapters.device import Gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.workers import WorkerPool
from guardrail.errors import MeasurementError
from guardrail.records.task import Done, Environment, Task

_TIMEOUT_SECONDS = 1800.0


def run_in_worker(function: str, arguments: Mapping[str, Any], gpu: Gpu | None, what: str) -> Any:
    """Run a function in a process of its own, with the GPU to itself where there is one.

    Args:
        function: ``"module:function"``.
        arguments: Its arguments.
        gpu: What it runs on; Triton's interpreter where None.
        what: What it dumps, for the message.

    Raises:
        MeasurementError: It failed, hung, or its worker died.
    """
    lock = GpuLock(gpu.uuid, sys.stderr) if gpu else None
    pool = WorkerPool([str(Path.cwd())], 1, interpreted=gpu is None, gpu_lock=lock)
    task = Task(function, arguments, Environment.EXECUTE, timeout=_TIMEOUT_SECONDS)
    ((_, outcome),) = pool.run([task])
    if not isinstance(outcome, Done):
        raise MeasurementError(f"{what}: {outcome.reason}")
    return outcome.value
