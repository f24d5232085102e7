"""``guardrail profile`` where there is a GPU."""

import json
import os
import subprocess
import sys

import pytest

from guardrail import registry
from guardrail.adapters.nsight import find_tool
from guardrail.errors import ExitCode

pytestmark = pytest.mark.gpu

SCRIPT = """
import sys
import torch
size = int(sys.argv[1])
one = torch.randn(size, size, device="cuda")
host = torch.zeros(1 << 20)
with torch.profiler.record_function("sums"):
    for _ in range(5):
        one.add_(1)
with torch.profiler.record_function("upload"):
    host.cuda()
torch.cuda.synchronize()
"""

KERNELS = [
    f"{family.name}.{kernel.name}" for family in registry.families().values() for kernel in family.kernels
]


def _profile(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "guardrail", "profile", *map(str, arguments), "--json"]
    if "--" in command:
        command.remove("--json")
        command.insert(4, "--json")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.OK, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_bundled_kernel_is_profiled_by_its_name(kernel):
    (row,) = _profile(kernel, "--calls", "10")["rows"]
    assert row["name"] == kernel.partition(".")[2]
    assert row["calls"] % 10 == 0
    assert 0.5e3 < row["median_ns"] < 1e9
    assert row["registers"] > 0
    assert row["blocks_per_sm"] >= 1


def test_a_script_shows_its_kernels_its_copy_and_its_regions(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    document = _profile(script, "--", "1024")
    launches = document["trace"]["launches"]
    sums = [it for it in launches if it.get("region") == "sums"]
    assert len(sums) == 5
    copies = [it for it in launches if it["kind"] == "copy" and it.get("region") == "upload"]
    assert [it["bytes"] for it in copies] == [4 << 20]
    assert document["trace"]["device"].startswith("NVIDIA")


@pytest.mark.skipif(find_tool("ncu") is None, reason="needs ncu")
def test_counters_of_a_bundled_kernel_are_read_by_ncu():
    (row,) = _profile(
        "q6k.mmvq_v2", "--calls", "3", "--counters", "sm__warps_active.avg.pct_of_peak_sustained_active"
    )["rows"]
    assert (row["name"], row["calls"]) == ("mmvq_v2", 3)
    assert 0 < row["counters"]["sm__warps_active.avg.pct_of_peak_sustained_active"] <= 100


@pytest.mark.skipif(find_tool("nsys") is None, reason="needs nsys")
def test_a_command_is_recorded_by_nsys(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    document = _profile("--", sys.executable, script, "1024")
    assert document["trace"]["tool"] == "nsys"
    assert any(row["kind"] == "kernel" and row["calls"] >= 5 for row in document["rows"])
