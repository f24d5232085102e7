"""The bundled int4 guards that run kernels, on the GPU of this machine, from the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guardrail.kernels.int4_attention import gate

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]


def test_the_int4_guards_hold_and_the_report_names_the_gpu_that_ran_them(tmp_path):
    import torch

    report = tmp_path / "report.json"
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    patterns = ("int4-dispatch", "int4-*numerics", "int4-cache-*")
    command = [
        sys.executable,
        "-m",
        "guardrail",
        "check",
        "--fresh",
        *(f"--only={glob}" for glob in patterns),
    ]
    found = subprocess.run(
        [*command, "--format", "terminal", "--format", "json", "--output", str(report)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    run = json.loads(report.read_text(encoding="utf-8"))
    assert run["provenance"]["device"].startswith(torch.cuda.get_device_name(0))
    assert "TRITON_INTERPRET" not in run["provenance"]["knobs"]
    guards = {guard["id"]: guard for guard in run["guards"]}
    executed = {
        measured["metric"]: measured["inspected"]
        for measured in guards["int4-dispatch"]["measurements"]
        if measured["metric"] in ("dropped_units", "arms_not_reached")
    }
    interpreted = sum(gate.executed(case) for case in gate.domain())
    assert set(executed) == {"dropped_units", "arms_not_reached"}
    assert min(executed.values()) > interpreted, "cases too large for the interpreter must have run"
