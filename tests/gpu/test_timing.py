"""The timing probe on the GPU of this machine: what it sees, what it refuses, and what turns it red."""

import os
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from guardrail.adapters.device import executing_gpu
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.errors import MeasurementError
from guardrail.kernels.int4_attention.manifest import FAMILY
from guardrail.probes.timing_session import TimingPlan
from guardrail.spec.profile_files import load_profiles

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
ATTENTION = FAMILY.subjects()["served_attention"]
SPEED_GUARDS = ("int4-verify-speed", "int4-decode-speed", "int4-drafter-speed", "int4-write-speed")


def plan(operation=ATTENTION, **changes):
    stated = {
        "operation": operation,
        "cases": {"drafter-24k": ATTENTION.timed_cases["drafter-24k"]},
        "arms": {"drafter-24k": ("3d",)},
        "caches": ("cold",),
        "rates": ("dram_read",),
        "captured": False,
        "calls": 10,
        "relative_error": 2e-3,
        "confidence": 0.95,
        "budget_seconds": 5.0,
    }
    return TimingPlan(**(stated | changes))


def timed(*args, **changes):
    from guardrail.adapters.timing import time_arms

    return time_arms(plan(*args, **changes))


def device_profile():
    gpu = executing_gpu()
    devices = load_profiles(ROOT / "guards.yaml", frozenset(ARCHITECTURES)).devices
    found = [device for device in devices.values() if gpu and device.device_name == gpu.name]
    if not found:
        pytest.skip("this GPU has no device profile to compare its rates with")
    return found[0]


def guardrail(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-m", "guardrail", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize("captured", [False, True], ids=["eager", "captured"])
def test_a_call_is_seen_kernel_by_kernel_and_the_card_reads_at_most_its_data_sheets_rate(captured):
    device = device_profile()
    found = timed(captured=captured)
    (place,) = found.places
    assert place.launches == ("attend_segments", "reduce_segments")
    assert 32 <= place.registers <= 255
    rate = statistics.median(window.rates["dram_read"] for window in found.windows)
    assert 0.75 * device.dram_bytes_per_second < rate <= device.dram_bytes_per_second


def test_an_arm_that_computes_something_wrong_has_no_time():
    wrong = replace(ATTENTION, random="helpers.wrong_trials:ScaledAttention")
    with pytest.raises(MeasurementError, match=r"the relative error of a timed call is 0\.01.*no time"):
        timed(wrong)


def test_an_arm_that_does_not_launch_what_it_must_has_no_time():
    wrong = replace(ATTENTION, random="helpers.wrong_trials:AnotherArm")
    with pytest.raises(MeasurementError, match="ran attend, where attend_segments, reduce_segments was"):
        timed(wrong)


def test_the_slower_twin_takes_about_five_percent_longer():
    shipped, slower = (
        statistics.median(window.busy_us[0] for window in timed(operation).windows)
        for operation in (ATTENTION, ATTENTION.controls[0].mutant)
    )
    assert 1.03 < slower / shipped < 1.25


@pytest.mark.alone
def test_the_anchored_guards_hold_in_two_runs_and_turn_red_on_their_slower_twins():
    if device_profile().name != "h200":
        pytest.skip("the bundled speed guards are anchored on an H200")
    chosen = [f"--only={name}" for name in SPEED_GUARDS]
    for _ in range(2):
        found = guardrail("check", "--require-profile", "h200", *chosen)
        assert found.returncode == 0, found.stdout + found.stderr
    controls = guardrail("check", "--self-test", *chosen)
    assert controls.returncode == 0, controls.stdout + controls.stderr
