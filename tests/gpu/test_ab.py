"""``guardrail ab`` with two arms of operations on the GPU of this machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guardrail.errors import ExitCode

pytestmark = [pytest.mark.gpu, pytest.mark.alone]

ROOT = Path(__file__).parents[2]
DRAFTER = ("--case", "drafter-24k", "--relative-error", "2e-3")
CRITERIA = ("--accept", "B/A <= 0.98", "--veto", "B/A >= 1.02")


@pytest.fixture
def compared(tmp_path):
    """Run ``guardrail ab`` in a folder of its own, and read its document."""
    (tmp_path / "scaled.py").write_text(
        "from dataclasses import replace\n"
        "from guardrail.kernels.int4_attention.manifest import FAMILY as SHIPPED\n"
        "SERVED = SHIPPED.subjects()['served_attention']\n"
        "WRONG = replace(SERVED, random='helpers.wrong_trials:ScaledAttention')\n"
        "SLOWER = SERVED.controls[0].mutant\n"
        "WRONG_FAMILY = replace(SHIPPED, operations=(WRONG,), gates=())\n"
        "SLOWER_FAMILY = replace(SHIPPED, operations=(SLOWER,), gates=())\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    inherited = environment.get("PYTHONPATH", "")
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "tests"), str(tmp_path), str(ROOT), *filter(None, [inherited])]
    )

    def run(*arguments):
        return subprocess.run(
            [
                sys.executable, "-m", "guardrail", "ab", "--json", *arguments,
                "--id", "x", "--what", "x", "--mechanism", "x",
            ],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )  # fmt: skip

    return run


def test_the_slower_twin_is_vetoed_and_the_control_stands(compared):
    found = compared(
        "--a", "int4_attention.served_attention:3d", "--b", "scaled:SLOWER_FAMILY.served_attention:3d",
        *DRAFTER, *CRITERIA,
    )  # fmt: skip
    assert found.returncode == ExitCode.FAILED, found.stdout + found.stderr
    document = json.loads(found.stdout)
    assert 1.03 < document["metric"]["ratio"] < 1.25
    assert document["arms"]["A"]["notes"]["launches"] == ["attend_segments reduce_segments"]
    assert document["arms"]["A"]["sources"] != document["arms"]["B"]["sources"]


def test_two_arms_of_one_operation_are_timed_cold_and_hot(compared):
    found = compared(
        "--a", "q6k.matvec:v1", "--b", "q6k.matvec:v2", "--case", "ffn-down-14b", "--case", "rows=512",
        "--control", "q6k.matvec:dequantized",
        "--accept", "B/A <= 0.9999", "--veto", "B/A >= 1.0001", "--metric", "hot_time",
    )  # fmt: skip
    assert found.returncode in (ExitCode.OK, ExitCode.FAILED, ExitCode.UNDECIDED), found.stderr
    document = json.loads(found.stdout)
    times = {each["selector"]: each["a"] for each in (document["metric"], *document["beside"])}
    assert set(times) == {"cold_time", "cold_span", "hot_time", "hot_span"}
    assert times["hot_time"] < times["cold_time"]
    assert document["arms"]["A"]["notes"]["launches"] == ["mmvq_v1"]
    (control,) = document["controls"]
    assert 0.97 < control["ratio"] < 1.03


def test_an_arm_compared_with_itself_does_not_differ(compared):
    found = compared("--a", "int4_attention.served_attention:3d", *DRAFTER, "--self-compare", "--pairs", "10")
    assert found.returncode in (ExitCode.OK, ExitCode.FAILED), found.stderr
    assert 0.99 < json.loads(found.stdout)["metric"]["ratio"] < 1.01


def test_an_arm_that_computes_something_wrong_is_not_timed(compared):
    found = compared(
        "--a", "int4_attention.served_attention:3d", "--b", "scaled:WRONG_FAMILY.served_attention:3d",
        *DRAFTER, *CRITERIA,
    )  # fmt: skip
    assert found.returncode == ExitCode.NOT_MEASURED
    assert "the relative error of a timed call is 0.01" in " ".join(found.stderr.split())
