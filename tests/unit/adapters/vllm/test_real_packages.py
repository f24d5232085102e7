"""The plug-in inside the real packages of the oldest and the newest supported release.

The packages are looked up under environment variables (CONTRIBUTING has the commands); what each scenario
saw is collected in one process for each release.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_TESTS = Path(__file__).parents[3]
_VERSIONS = ("0.27.1", "0.33.0")
# 4 bytes x 24 heads x (256 + 2) for each of 660 slots: 5 segments of 132 query tokens, or 11 of 60.
_PLANNED = 660 * 4 * 24 * 258
_ROUNDED_ROWS = 35 * 16


@pytest.fixture(scope="module", params=_VERSIONS)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    version = request.param
    variable = "GUARDRAIL_TEST_VLLM_" + version.replace(".", "_")
    if variable not in os.environ:
        pytest.skip(f"{variable} does not name the folders of vLLM {version} and what it needs")
    result = tmp_path_factory.mktemp("vllm") / "seen.json"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.environ[variable], str(_TESTS)]),
        "CUDA_VISIBLE_DEVICES": "",
        "TRITON_INTERPRET": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "helpers.vllm_inside", str(result)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(result.read_text())
    assert found["version"] == version
    return found


@pytest.mark.parametrize("engine", ["eager", "once"])
def test_layers_allocate_the_plan_once_and_the_builder_adopts_it(seen: Any, engine: str) -> None:
    assert seen[engine] == {
        "sets": [[_PLANNED, 64, "model load"]],
        "adopters": [1],
        "buffer_bytes": _PLANNED,
        "stock_scratch": [None, None, None],
        "device": "cpu",
        "warnings": [],
        "serves": [True, True],
    }


def test_a_plan_made_at_load_survives_the_rounding_of_capture_sizes(seen: Any) -> None:
    (held,) = seen["captured"]["sets"]
    assert held[1:] == [_ROUNDED_ROWS, "model load"]
    assert seen["captured"]["warnings"] == []


def test_a_draft_model_has_a_set_that_its_builder_finds(seen: Any) -> None:
    assert seen["drafter"] == {"sets": [2, 2], "warnings": []}


def test_a_builder_that_needs_more_warns_with_the_bytes_and_serves_the_layers(seen: Any) -> None:
    grown = seen["later_size"]
    assert grown["rows"] == [32, 128]
    (warning,) = grown["warnings"]
    assert f"the KV budget does not know of these {grown['bytes']} bytes" in warning


def test_other_caches_are_left_alone(seen: Any) -> None:
    assert seen["untouched"]["not_int4"] == {"int4": True, "scratch": "cpu"}


def test_a_layer_that_the_kernels_refuse_runs_on_stock_with_stock_scratch_and_says_why(seen: Any) -> None:
    found = seen["untouched"]
    assert found["reasons"] == ["stock_alibi"]
    assert found["scratch"] == [64 if seen["version"] == "0.27.1" else 4, 6, 16]
    assert found["taken"] == [["stock", ["stock_alibi"], False, 1]]
    assert found["breaches"] == 0
    assert found["left_nines"] == 0


def test_a_call_that_goes_to_stock_finds_what_guardrail_wrote(seen: Any) -> None:
    found = seen["one_call_refused"]
    assert found["changed_bytes"] == 0
    assert found["relative_error"] < 1e-3
    assert found["taken"] == [["3d", []], ["stock", ["stock_mm_prefix"]]]


def test_the_memory_profile_gets_zeros(seen: Any) -> None:
    assert seen["one_call_refused"]["profiled_sum"] == 0.0


def test_guardrail_writes_stocks_bytes(seen: Any) -> None:
    differing, scales_of_rows_without_slot = seen["bytes"]
    assert differing == scales_of_rows_without_slot


@pytest.mark.parametrize(
    ("batch", "arm"),
    [
        ("verify", ["3d", 8, 1]),
        ("deep", ["3d", 16, 1]),
        ("decode", ["3d", 1, 1]),
        ("prefill", ["2d", 20, 1]),
        ("window", ["3d", 3, 1]),
        ("softcap", ["3d", 3, 1]),
        ("sinks", ["3d", 3, 1]),
    ],
)
def test_outputs_agree_with_stock_to_fp16_rounding(seen: Any, batch: str, arm: list[Any]) -> None:
    assert seen[batch]["arms"] == [arm]
    assert 0 < seen[batch]["relative_error"] < 1e-3
