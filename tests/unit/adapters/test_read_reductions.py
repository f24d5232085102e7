"""Reductions of real kernels, compiled in a process of its own: in this one, kernels may be interpreted."""

import json
import os
import subprocess
import sys

import pytest

from guardrail.compiled.reductions import Reduction

pytest.importorskip("triton")

SCRIPT = """
import json
from dataclasses import replace
from guardrail.adapters.triton_compiler import read_reductions
from guardrail.kernels.q6k.twins import build
four = build("mmvq_v2")
eight = replace(four, warps=8)
kernels = {"tree": "mmvq_v2:mmvq_v2", "plain": "plain_sum:mmvq_v2_plain_sum"}
print(json.dumps({
    f"{name} {warps.warps}": read_reductions(f"guardrail.kernels.q6k.{kernel}", warps, "sm_90")
    for name, kernel in kernels.items() for warps in (four, eight)
}))
"""


@pytest.fixture(scope="module")
def sums():
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = {name: [Reduction(**row) for row in rows] for name, rows in json.loads(done.stdout).items()}
    return {name: [item for item in rows if item.is_rounded] for name, rows in found.items()}


def test_a_plain_sum_over_all_lanes_has_another_layout_with_more_warps(sums):
    (four,), (eight,) = sums["plain 4"], sums["plain 8"]
    assert four.shape == eight.shape == [1, 256]
    assert "warpsPerCTA = [1, 4]" in four.layout
    assert "warpsPerCTA = [1, 8]" in eight.layout


@pytest.mark.parametrize("build", ["tree 4", "tree 8"])
def test_the_tree_of_sums_adds_two_numbers_at_a_time(sums, build):
    assert [found.extent for found in sums[build]] == [2] * 8
    assert [found.shape for found in sums[build]] == [[1, 2, 128 >> step] for step in range(8)]
