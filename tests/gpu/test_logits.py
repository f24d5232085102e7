"""First-step logits on a GPU: the guards on the tiny model and on 7B's geometry."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.tiny_decode import ROOT

pytestmark = pytest.mark.gpu


def checked(folder: Path, pattern: str, *options: str) -> dict[str, str]:
    """Check bundled guards from the command line, and give the status of each."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "guardrail", "check", "--fresh", "--only", pattern, *options]
    ended = subprocess.run(
        [*command, "--format", "json", "--output", str(report)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert report.is_file(), ended.stderr
    return {guard["id"]: guard["verdicts"][0]["status"] for guard in json.loads(report.read_text())["guards"]}


def test_references_modes_and_batches_of_the_tiny_model_agree(tmp_path: Path) -> None:
    assert checked(tmp_path, "logits-tiny-*") == {
        "logits-tiny-reference": "pass",
        "logits-tiny-modes": "pass",
    }


def test_the_bounds_on_the_tiny_model_are_seen_to_turn_red(tmp_path: Path) -> None:
    assert set(checked(tmp_path, "logits-tiny-*", "--self-test").values()) == {"pass"}


def test_logits_of_7b_are_the_reference_arm_s_but_for_rounding(tmp_path: Path) -> None:
    status = checked(tmp_path, "logits-7b-*")["logits-7b-reference"]
    if status == "skipped":
        pytest.skip("the guard is for an H200")
    assert status == "pass"
