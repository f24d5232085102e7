"""Whatever a kernel does to its GPU, its task alone fails, and the next one runs."""

import io
from pathlib import Path

import pytest

from guardrail.adapters.device import executing_gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.workers import WorkerPool
from guardrail.records.task import Done, Environment, Task

pytestmark = pytest.mark.gpu

TESTS = str(Path(__file__).parents[1])


def outcomes_of(*names: str, timeout: float = 60.0):
    gpu = executing_gpu()
    assert gpu is not None
    tasks = [
        Task(f"helpers.faulty_kernels:{name}", {}, Environment.EXECUTE, timeout=timeout) for name in names
    ]
    pool = WorkerPool([TESTS], 1, interpreted=False, gpu_lock=GpuLock(gpu.uuid, io.StringIO()))
    found = dict(pool.run(tasks))
    return [found[position] for position in range(len(tasks))]


def test_an_illegal_access_fails_its_own_task_although_that_never_waited_for_it():
    faulty, next_one = outcomes_of("read_out_of_bounds", "add_on_the_gpu")
    assert faulty.reason.startswith(
        "a kernel read or wrote memory that is not its own (illegal memory access); compute-sanitizer names "
        "the kernel and the line. CUDA says: "
    )
    assert isinstance(next_one, Done) and next_one.value == 5.0


def test_a_request_for_too_much_memory_fails_with_its_cause():
    faulty, next_one = outcomes_of("ask_for_too_much", "add_on_the_gpu")
    assert faulty.reason.startswith("the GPU's memory ran out; measure a smaller case")
    assert isinstance(next_one, Done) and next_one.value == 5.0


def test_a_kernel_that_never_ends_is_killed_with_its_worker():
    faulty, next_one = outcomes_of("never_end", "add_on_the_gpu", timeout=25.0)
    assert faulty.reason == "helpers.faulty_kernels:never_end did not end within 25 s and was killed"
    assert isinstance(next_one, Done) and next_one.value == 5.0
