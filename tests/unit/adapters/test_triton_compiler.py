"""Triton compiles in a process of its own: in this one, kernels may be interpreted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guardrail.adapters.triton_compiler import compile_build
from guardrail.errors import MeasurementError
from guardrail.families import Build

pytest.importorskip("triton")

DATA = Path(__file__).parents[2] / "data" / "resources"

SCRIPT = """
import dataclasses, json, sys
from guardrail.adapters.triton_compiler import compile_build
from guardrail.errors import GuardrailError
from guardrail.families import Build
results = []
for function, build, arch in json.load(sys.stdin):
    try:
        results.append(dataclasses.asdict(compile_build(function, Build(**build), arch)))
    except GuardrailError as error:
        results.append(f"{type(error).__name__}: {error}")
print(json.dumps(results))
"""

FREE = {"name": "free", "signature": {"values": "*fp32:16"}, "constants": {"BLOCK": 16384}}
CAPPED = FREE | {"name": "capped", "max_registers": 32}
ANY = {
    "name": "any",
    "signature": {"values": "*fp32", "count": "i32", "factor": "fp32"},
    "constants": {"BLOCK": 1024},
    "warps": 8,
}
ALIGNED = ANY | {
    "name": "aligned",
    "signature": {"values": "*fp32:16", "count": "i32:16", "factor": "fp32"},
}


def _compile(*builds, **environment):
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables |= {"PYTHONPATH": str(DATA)} | environment
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(builds),
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def compiled():
    builds = [
        ("toy_kernels:centre", FREE, "sm_90"),
        ("toy_kernels:centre", CAPPED, "sm_90"),
        ("toy_kernels:scale", ANY, "sm_90"),
        ("toy_kernels:scale", ALIGNED, "sm_90"),
        ("toy_kernels:scale", ALIGNED, "sm_86"),
        ("toy_kernels:scale", ALIGNED, "sm_120"),
    ]
    names = ("free", "capped", "any", "aligned", "aligned86", "aligned120")
    return dict(zip(names, _compile(*builds), strict=True))


def test_a_build_is_named_after_its_symbol_and_itself(compiled):
    assert compiled["free"]["name"] == "centre [free]"
    assert compiled["free"]["symbol"] == "centre"


def test_every_figure_is_known(compiled):
    assert [key for key, value in compiled["aligned"].items() if value is None] == []
    assert compiled["aligned"]["threads"] == 256
    assert compiled["aligned"]["dynamic_shared_bytes"] == 0
    assert compiled["free"]["threads"] == 128
    assert compiled["free"]["dynamic_shared_bytes"] == 16  # one float for each of four warps


def test_a_cap_on_registers_shows_as_spills_of_this_very_compilation(compiled):
    assert compiled["free"]["spill_store_bytes"] == 0
    assert compiled["free"]["registers"] > 128
    assert compiled["capped"]["registers"] == 32
    assert compiled["capped"]["spill_store_bytes"] > 500
    assert compiled["capped"]["spill_load_bytes"] > 500


def test_a_promise_of_divisibility_reaches_the_compiler(compiled):
    assert compiled["aligned"]["registers"] < compiled["any"]["registers"]


def test_any_architecture_is_compiled_for_with_the_assembler_that_triton_picks(compiled):
    assert [compiled[name]["arch"] for name in ("aligned", "aligned86", "aligned120")] == [
        "sm_90",
        "sm_86",
        "sm_120",
    ]
    for name in ("aligned86", "aligned120"):
        triton, ptxas = compiled[name]["toolchain"].split(", ")
        assert triton.startswith("triton 3.")
        assert ptxas.startswith("ptxas 1")


def test_a_kernel_that_does_not_compile_is_quoted():
    build = {"name": "one", "signature": {"values": "*fp32"}, "constants": {"BLOCK": 64}}
    (message,) = _compile(("toy_kernels:broken", build, "sm_90"))
    assert message.startswith("MeasurementError: toy_kernels:broken, build one: does not compile for sm_90: ")
    assert "undefined_name is not defined" in message


def test_a_wrong_declaration_is_a_usage_error():
    missing, unknown, no_kernel, no_module = _compile(
        ("toy_kernels:centre", {"name": "one", "signature": {}, "constants": {"BLOCK": 64}}, "sm_90"),
        ("toy_kernels:centre", FREE | {"constants": {"BLOCK": 64, "TILE": 1}}, "sm_90"),
        ("toy_kernels:tl", FREE, "sm_90"),
        ("toy_kernels:nothing", FREE, "sm_90"),
    )
    assert missing == "UsageError: build one: gives argument values neither a type nor a value"
    assert unknown == "UsageError: build free: the kernel has no argument TILE"
    assert (
        no_kernel == "UsageError: toy_kernels:tl: not a Triton kernel; expected a function under @triton.jit"
    )
    assert no_module.startswith("UsageError: toy_kernels:nothing: no such kernel: ")


def test_the_cache_is_neither_read_nor_written(tmp_path):
    for _ in range(2):
        (kernel,) = _compile(("toy_kernels:scale", ANY, "sm_90"), TRITON_CACHE_DIR=str(tmp_path / "cache"))
        assert kernel["spill_store_bytes"] == 0
    assert not (tmp_path / "cache").exists()


def test_a_process_that_interprets_kernels_is_refused(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(MeasurementError, match=r"TRITON_INTERPRET is set, .* unset it"):
        compile_build("toy_kernels:scale", Build(**ANY), "sm_90")
