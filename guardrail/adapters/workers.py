"""Worker processes: each task runs in one, and a hang or a crash ends that task alone."""

import contextlib
import dataclasses
import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from multiprocessing import get_context, resource_tracker
from typing import Any, TextIO

from pebble import ProcessExpired, ProcessPool

from guardrail.adapters.cuda_faults import cuda_fault
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.errors import GuardrailError, ToolMissingError
from guardrail.records.task import Done, Environment, Failed, Outcome, Task


class WorkerPool:
    """Runs tasks in spawned processes, one pool for each environment.

    Args:
        search_path: Folders put before ``sys.path`` in every worker, for families that a user keeps beside
            the guards file.
        workers: Processes at a time.
        interpreted: Whether kernels run in Triton's interpreter.
        tracebacks: Where the tracebacks of failed tasks are written; nowhere where None.
        gpu_lock: Held while anything runs that may use the GPU; None where there is none.
    """

    def __init__(
        self,
        search_path: Sequence[str],
        workers: int,
        interpreted: bool,
        tracebacks: TextIO | None = None,
        gpu_lock: GpuLock | None = None,
    ) -> None:
        self._search_path = tuple(search_path)
        self._workers = workers
        self._interpreted = interpreted
        self._tracebacks = tracebacks
        self._gpu_lock = gpu_lock

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        """See `guardrail.engine.Runner.run`."""
        for index, outcome in self._run(tasks):
            if self._tracebacks and isinstance(outcome, Failed):
                self._tracebacks.write(outcome.detail)
            yield index, outcome

    def _run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        for environment in Environment:
            positions = [index for index, task in enumerate(tasks) if task.environment is environment]
            if not positions:
                continue
            if environment is Environment.EXECUTE and not self._interpreted:
                with self._gpu_for_itself():
                    yield from self._run_on_gpu(tasks, positions)
            elif environment is Environment.COMMAND:
                with self._gpu_for_itself():
                    for position in positions:
                        yield from self._run_in(environment, tasks, [position])
            else:
                yield from self._run_in(environment, tasks, positions)

    def _gpu_for_itself(self) -> contextlib.AbstractContextManager[None]:
        return self._gpu_lock.held() if self._gpu_lock else contextlib.nullcontext()

    def _run_in(
        self, environment: Environment, tasks: Sequence[Task], positions: Sequence[int]
    ) -> Iterator[tuple[int, Outcome]]:
        with self._pool(environment, min(self._workers, len(positions))) as pool:
            waiting = {_schedule(pool, tasks[index]): index for index in positions}
            while waiting:
                ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ended:
                    index = waiting.pop(future)
                    yield index, _outcome(future, tasks[index])

    def _run_on_gpu(self, tasks: Sequence[Task], positions: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
        """Run one task at a time: two processes on one GPU would measure each other."""
        waiting = list(positions)
        while waiting:
            with self._pool(Environment.EXECUTE, 1) as pool:
                failed = False
                while waiting and not failed:
                    index = waiting.pop(0)
                    outcome = _outcome(_schedule(pool, tasks[index]), tasks[index])
                    # A CUDA error sticks to its process and would fail whatever runs there next.
                    failed = isinstance(outcome, Failed)
                    yield index, outcome

    @contextlib.contextmanager
    def _pool(self, environment: Environment, workers: int) -> Iterator[ProcessPool]:
        """Start workers, and end them with the block however it is left."""
        pool = ProcessPool(
            max_workers=workers,
            initializer=_prepare,
            initargs=(environment, self._interpreted, self._search_path),
            context=get_context("spawn"),
        )
        try:
            with _interrupts_held_back():
                _ = pool.active  # starts it
            yield pool
        finally:
            pool.stop()  # type: ignore[no-untyped-call]
            pool.join()


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Start processes that see no Ctrl-C, which would end them with a traceback while they import."""
    resource_tracker.ensure_running()  # it would let interrupts through again as it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _schedule(pool: ProcessPool, task: Task) -> "Future[Outcome]":
    future: Future[Outcome] = pool.schedule(_call, args=(task,), timeout=task.timeout)
    return future


def _outcome(future: "Future[Outcome]", task: Task) -> Outcome:
    """Turn what became of a worker into what became of its task."""
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, TimeoutError):
        return Failed(f"{task.function} did not end within {task.timeout:g} s and was killed")
    if isinstance(error, ProcessExpired):
        return Failed(f"the worker process died while running {task.function} (exit code {error.exitcode})")
    return Failed(f"{task.function} could not be sent to its worker: {type(error).__name__}: {error}")


def _prepare(environment: Environment, interpreted: bool, search_path: Sequence[str]) -> None:
    """Set a fresh worker up before it imports anything that reads the environment."""
    # Interrupts are ignored by now; a command would inherit that they are held back.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sys.path[:0] = [folder for folder in search_path if folder not in sys.path]
    if environment is Environment.COMMAND:
        return
    os.environ.pop("TRITON_INTERPRET", None)
    if environment is Environment.EXECUTE and interpreted:
        os.environ["TRITON_INTERPRET"] = "1"
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        # The interpreter makes millions of objects that live for an instant and form no cycles.
        gc.set_threshold(50_000, 20, 20)
    # The workers already share the cores between them.
    os.environ["OMP_NUM_THREADS"] = "1"
    # Compilers and kernels print what belongs into an outcome or nowhere, never into the report.
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def _call(task: Task) -> Outcome:
    """Run one task inside a worker."""
    start = time.perf_counter()
    module, _, name = task.function.partition(":")
    try:
        value = getattr(importlib.import_module(module), name)(**task.arguments)
        _leave_gpu_idle()
        # What is measured is the same data as what the cache will give back.
        plain = json.loads(json.dumps(value, default=plain_data))
    except GuardrailError as error:
        return Failed(str(error), traceback.format_exc())
    except ModuleNotFoundError as error:
        return Failed(_missing(error), traceback.format_exc())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's kernel may raise anything
        reason = cuda_fault(str(error)) or f"{type(error).__name__}: {_first_line(error)}"
        return Failed(reason, traceback.format_exc())
    return Done(plain, time.perf_counter() - start)


def _leave_gpu_idle() -> None:
    """Wait for what the task launched, so that its faults are its own, and give its memory back."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def _missing(error: ModuleNotFoundError) -> str:
    """Say how to get what a task needs."""
    if error.name in ("numpy", "torch", "triton"):
        purpose, remedy = "compile and run kernels", "Run: pip install 'gpu-guardrail[gpu]'"
        return str(ToolMissingError(error.name, purpose, remedy))
    return f"{type(error).__name__}: {error}"


def plain_data(value: Any) -> dict[str, Any]:
    """Turn a dataclass into plain data, for `json.dumps`.

    Raises:
        TypeError: It is none, so a task must not return it.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"a task must return plain data, not a {type(value).__name__}")


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else "no message"
