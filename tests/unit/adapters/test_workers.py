import subprocess
import sys
import time
from pathlib import Path

import pytest

from guardrail.adapters.workers import WorkerPool
from guardrail.records.task import Done, Environment, Failed, Task

TESTS = str(Path(__file__).parents[2])


def task(name, environment=Environment.HOST, timeout=60.0, **arguments):
    return Task(f"helpers.worker_tasks:{name}", arguments, environment, timeout=timeout)


def run(*tasks, workers=2, interpreted=True, search_path=(TESTS,)):
    outcomes = dict(WorkerPool(search_path, workers, interpreted).run(tasks))
    return [outcomes[position] for position in range(len(tasks))]


def test_tasks_return_their_values_by_position():
    outcomes = run(
        task("add", one=1, other=2), task("add", one=30, other=4), task("return_a_tuple_and_a_key")
    )
    assert [outcome.value for outcome in outcomes] == [3, 34, {"1": [2, 3]}]
    assert all(not outcome.cached and outcome.seconds < 30 for outcome in outcomes)


def test_no_tasks_start_no_process():
    start = time.perf_counter()
    assert list(WorkerPool([TESTS], 2, interpreted=True).run([])) == []
    assert list(WorkerPool([TESTS], 2, interpreted=False).run([])) == []
    assert time.perf_counter() - start < 0.1


def test_whatever_becomes_of_a_task_the_next_one_runs():
    outcomes = run(
        task("segfault"),
        task("leave_at_once"),
        task("leave"),
        task("raise_user_error"),
        task("raise_guardrail_error"),
        task("return_a_set"),
        task("no_such_function"),
        task("add", one=lambda: 0, other=1),
        task("add", one=1, other=1),
        workers=1,
    )
    assert [outcome.reason for outcome in outcomes[:6]] == [
        "the worker process died while running helpers.worker_tasks:segfault (exit code -11)",
        "the worker process died while running helpers.worker_tasks:leave_at_once (exit code 7)",
        "SystemExit: 0",
        "ZeroDivisionError: units of an empty row",
        "the domain has no cases",
        "TypeError: a task must return plain data, not a set",
    ]
    assert outcomes[6].reason.startswith("AttributeError: module 'helpers.worker_tasks' has no attribute")
    assert outcomes[7].reason.startswith("helpers.worker_tasks:add could not be sent to its worker: ")
    assert (outcomes[8].value, type(outcomes[8])) == (2, Done)
    assert "worker_tasks.py" in outcomes[3].detail
    assert outcomes[3].detail.rstrip().endswith("and a second line")


def test_a_hang_is_killed_at_its_timeout_and_the_next_task_runs():
    start = time.perf_counter()
    hung, done = run(task("hang", timeout=1.0), task("add", one=1, other=1), workers=1)
    assert hung == Failed("helpers.worker_tasks:hang did not end within 1 s and was killed")
    assert done.value == 2
    assert time.perf_counter() - start < 20


def test_each_environment_has_processes_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    asked = [task("process_facts", environment) for environment in Environment]
    found = [outcome.value for outcome in run(*asked, search_path=[str(tmp_path)])]
    names = ("TRITON_INTERPRET", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
    assert dict(zip(Environment, (tuple(each[name] for name in names) for each in found), strict=True)) == {
        Environment.HOST: (None, "3", "1"),
        Environment.COMPILE: (None, "3", "1"),
        Environment.EXECUTE: ("1", "", "1"),
        Environment.COMMAND: ("1", "3", "5"),
    }
    assert len({each["pid"] for each in found}) == 4
    assert all(each["path"][0] == str(tmp_path) for each in found)


def test_kernels_are_not_interpreted_where_there_is_a_gpu(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    (outcome,) = run(task("process_facts", Environment.EXECUTE), interpreted=False)
    assert (outcome.value["TRITON_INTERPRET"], outcome.value["CUDA_VISIBLE_DEVICES"]) == (None, "3")


def test_a_gpu_worker_that_failed_is_not_used_again():
    names = ["work_unless_spoiled", "spoil", "work_unless_spoiled", "spoil"]
    outcomes = run(*(task(name, Environment.EXECUTE) for name in names), interpreted=False)
    assert [type(outcome) for outcome in outcomes] == [Done, Failed, Done, Failed]
    assert outcomes[1].reason == (
        "a kernel read or wrote memory that is not its own (illegal memory access); compute-sanitizer names "
        "the kernel and the line. CUDA says: CUDA error: an illegal memory access was encountered"
    )


def test_nothing_that_a_task_prints_reaches_the_report():
    code = (
        "from guardrail.adapters.workers import WorkerPool\n"
        "from guardrail.records.task import Environment, Task\n"
        "if __name__ == '__main__':\n"
        "    task = Task('helpers.worker_tasks:print_much', {}, Environment.HOST)\n"
        f"    print([outcome.value for _, outcome in WorkerPool([{TESTS!r}], 1, True).run([task])])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("['quiet']\n", "")


@pytest.mark.parametrize("interpreted", [True, False])
def test_a_run_that_is_given_up_kills_its_workers(interpreted):
    start = time.perf_counter()
    environment = Environment.EXECUTE
    outcomes = WorkerPool([TESTS], 1, interpreted).run(
        [task("add", environment, one=1, other=1), task("hang", environment), task("hang", environment)]
    )
    assert next(outcomes)[1].value == 2
    outcomes.close()
    assert time.perf_counter() - start < 20
