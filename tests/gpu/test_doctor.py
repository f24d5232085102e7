"""Sampling and examining a real GPU."""

import json
import os
import subprocess
import sys

import pytest

from guardrail.adapters.device import executing_gpu
from guardrail.adapters.device_state import sample
from guardrail.errors import ExitCode
from guardrail.rules.spoilers import spoilers

pytestmark = pytest.mark.gpu


@pytest.fixture
def uuid():
    gpu = executing_gpu()
    assert gpu is not None
    return gpu.uuid


def test_a_sample_holds_this_process_s_memory(uuid):
    torch = pytest.importorskip("torch")
    torch.ones(1, device="cuda")
    before = sample(uuid)
    held = torch.ones(1 << 30, dtype=torch.uint8, device="cuda")
    after = sample(uuid)
    assert after.memory_used_bytes - before.memory_used_bytes == pytest.approx(held.numel(), rel=0.1)
    assert after.seconds > before.seconds
    assert 0 < after.sm_clock_mhz < 4000
    assert 0 < after.temperature_celsius < 100
    assert 0 < after.power_watts < 2 * after.power_limit_watts


def test_a_hundred_samples_take_less_than_two_seconds(uuid):
    first = sample(uuid)
    for _ in range(99):
        last = sample(uuid)
    assert last.seconds - first.seconds < 2


def test_a_window_under_steady_load_is_not_spoiled_by_itself(uuid):
    torch = pytest.importorskip("torch")
    data = torch.ones(1 << 28, device="cuda")

    def busy_sample():
        for _ in range(200):
            data.mul_(1.0)
        state = sample(uuid)
        torch.cuda.synchronize()
        return state

    for _ in range(10):
        busy_sample()
    before, after = busy_sample(), busy_sample()
    found = spoilers(before, after, frozenset({os.getpid()}))
    assert not [sentence for sentence in found if "memory" in sentence or "compute" in sentence]


def test_a_process_that_comes_within_the_window_is_seen(uuid):
    torch = pytest.importorskip("torch")
    torch.ones(1, device="cuda")
    before = sample(uuid)
    script = (
        "import torch; held = torch.ones(1 << 30, dtype=torch.uint8, device='cuda'); "
        "torch.cuda.synchronize(); print('ready', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "ready\n"
        after = sample(uuid)
        other.communicate("\n")
    found = spoilers(before, after, frozenset({os.getpid()}))
    assert any("compute" in sentence or "appeared within the window" in sentence for sentence in found)


def test_doctor_names_the_gpu_and_agrees_with_its_exit_code(uuid):
    done = subprocess.run(
        [sys.executable, "-m", "guardrail", "doctor", "--json"], capture_output=True, text=True, timeout=60
    )
    found = json.loads(done.stdout)
    assert done.returncode == (ExitCode.UNDECIDED if found["spoiled"] else ExitCode.OK)
    assert uuid in [gpu["settings"]["uuid"] for gpu in found["gpus"]]
    works = {one["name"]: one["works"] for one in found["capabilities"]}
    assert works["run kernels on a GPU"] is True
