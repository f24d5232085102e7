"""Worker processes: each task runs in one, and a hang or a crash ends that task alone."""

import dataclasses
import importlib
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from multiprocessing import get_context
from typing import Any

from pebble import ProcessExpired, ProcessPool

from guardrail.errors import GuardrailError
from guardrail.records.task import Done, Environment, Failed, Outcome, Task


class WorkerPool:
    """Runs tasks in spawned processes, one pool for each environment.

    Args:
        search_path: Folders put before ``sys.path`` in every worker, for families that a user keeps beside the
            guards file.
        workers: Processes at a time.
        interpreted: Whether kernels run in Triton's interpreter.
    """

    def __init__(self, search_path: Sequence[str], workers: int, interpreted: bool) -> None:
        self._search_path = tuple(search_path)
        self._workers = workers
        self._interpreted = interpreted

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        """See `guardrail.engine.Runner.run`."""
        for environment in Environment:
            positions = [index for index, task in enumerate(tasks) if task.environment is environment]
            if positions:
                yield from self._run_in(environment, tasks, positions)

    def _run_in(
        self, environment: Environment, tasks: Sequence[Task], positions: Sequence[int]
    ) -> Iterator[tuple[int, Outcome]]:
        on_gpu = environment is Environment.EXECUTE and not self._interpreted
        pool = ProcessPool(
            # One GPU is one arm at a time: two processes on it would measure each other.
            max_workers=1 if on_gpu else min(self._workers, len(positions)),
            initializer=_prepare,
            initargs=(environment, self._interpreted, self._search_path),
            context=get_context("spawn"),
        )
        with pool:
            waiting: dict[Future[Outcome], int] = {
                pool.schedule(_call, args=(tasks[index],), timeout=tasks[index].timeout): index
                for index in positions
            }
            try:
                while waiting:
                    ended, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in ended:
                        index = waiting.pop(future)
                        yield index, _outcome(future, tasks[index])
            finally:
                if waiting:
                    pool.stop()  # type: ignore[no-untyped-call]


def _outcome(future: "Future[Outcome]", task: Task) -> Outcome:
    """Turn what became of a worker into what became of its task."""
    try:
        return future.result()
    except TimeoutError:
        return Failed(f"{task.function} did not end within {task.timeout:g} s and was killed")
    except ProcessExpired as expired:
        return Failed(f"the worker process died while running {task.function} (exit code {expired.exitcode})")


def _prepare(environment: Environment, interpreted: bool, search_path: Sequence[str]) -> None:
    """Set a fresh worker up before it imports anything that reads the environment."""
    sys.path[:0] = [folder for folder in search_path if folder not in sys.path]
    os.environ.pop("TRITON_INTERPRET", None)
    if environment is Environment.EXECUTE and interpreted:
        os.environ["TRITON_INTERPRET"] = "1"
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
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
    except GuardrailError as error:
        return Failed(str(error), traceback.format_exc())
    except Exception as error:  # noqa: BLE001 - a user's kernel may raise anything; it ends this task alone
        return Failed(f"{type(error).__name__}: {_first_line(error)}", traceback.format_exc())
    return Done(_plain(value), time.perf_counter() - start)


def _plain(value: Any) -> Any:
    """Turn a dataclass, or a list of them, into plain data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else "no message"
