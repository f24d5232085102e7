"""The command ``guardrail resources`` as a user meets it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guardrail.errors import ExitCode

DATA = Path(__file__).parents[1] / "data" / "resources"
LIBRARY = str(DATA / "two_kernels.so")


def _resources(*arguments, **environment):
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables |= {"COLUMNS": "100", "PYTHONPATH": str(DATA)} | environment
    done = subprocess.run(
        [sys.executable, "-m", "guardrail", "resources", *map(str, arguments)],
        env=variables,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _json(*arguments, code=ExitCode.OK):
    done = _resources(*arguments, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_a_library_is_listed_worst_first():
    done = _resources(LIBRARY)
    assert done.returncode == ExitCode.OK
    header, columns, *rows = [line.split() for line in done.stdout.splitlines()]
    assert header[:3] == ["6", "kernels,", "cuobjdump"]
    assert columns == ["name", "arch", "regs", "stack", "shared"]
    assert rows == [
        ["reverse<256>", "sm_120", "10", "0", "1024"],
        ["reverse<256>", "sm_75", "10", "0", "1024"],
        ["reverse<256>", "sm_90", "10", "0", "1024"],
        ["scale", "sm_120", "8", "0", "0"],
        ["scale", "sm_75", "8", "0", "0"],
        ["scale", "sm_90", "8", "0", "0"],
    ]


def test_json_is_one_object_for_each_kernel_with_null_for_what_no_binary_holds():
    (kernel,) = _json(LIBRARY, "--arch", "sm_90", "--kernel", "^scale$")
    assert kernel.pop("toolchain").startswith("cuobjdump ")
    assert kernel == {
        "name": "scale",
        "arch": "sm_90",
        "registers": 8,
        "stack_bytes": 0,
        "spill_store_bytes": None,
        "spill_load_bytes": None,
        "shared_bytes": 0,
        "dynamic_shared_bytes": None,
        "threads": None,
        "blocks_per_sm": None,
        "limited_by": None,
        "theoretical_occupancy": None,
    }


def test_names_are_demangled_and_whole_in_json():
    names = {kernel["name"] for kernel in _json(LIBRARY)}
    assert names == {"void reverse<256>(float*)", "scale"}


def test_launch_size_from_the_command_line_gives_blocks_per_sm():
    (kernel,) = _json(
        LIBRARY, "--arch", "sm_75", "--kernel", "reverse", "--threads", "256", "--dynamic-shared", "7168"
    )
    assert (kernel["shared_bytes"], kernel["threads"]) == (8192, 256)
    assert (kernel["blocks_per_sm"], kernel["limited_by"]) == (4, "warps")


def test_a_triton_cache_knows_its_launch_size():
    kernels = {kernel["name"]: kernel for kernel in _json(DATA / "triton_cache")}
    assert (kernels["total"]["threads"], kernels["total"]["blocks_per_sm"]) == (256, 8)
    assert (kernels["scale"]["threads"], kernels["scale"]["blocks_per_sm"]) == (128, 16)


@pytest.mark.parametrize(
    ("triton_cache", "code", "status"), [("spilling", 1, "fail"), (DATA / "triton_cache", 0, "pass")]
)
def test_a_spill_in_a_triton_cache_is_red(guardrail, folder, triton_cache, code, status):
    compile_spilling = [sys.executable, str(DATA / "compile_spilling.py")]
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    if triton_cache == "spilling":
        subprocess.run(
            compile_spilling, check=True, env=variables | {"TRITON_CACHE_DIR": str(folder / triton_cache)}
        )
    guard = {"id": "chosen", "title": "what the autotuner chose has no stack", "probe": "resources"}
    bound = {"subject": str(triton_cache), "archs": ["sm_90"], "require": {"stack_bytes": {"ceiling": 0}}}
    (folder / "guards.yaml").write_text(json.dumps({"version": 1, "guards": [guard | bound]}))
    found = guardrail("check", "--format", "json")
    (result,) = json.loads(found.stdout)["guards"]
    assert (found.returncode, result["status"]) == (code, status)


def test_a_kernel_of_a_family_is_compiled_in_every_build():
    pytest.importorskip("triton")
    kernels = _json("toy_family:FAMILY.scale", "--arch", "sm_86")
    assert {(kernel["name"], kernel["arch"]) for kernel in kernels} == {
        ("scale [any]", "sm_86"),
        ("scale [aligned]", "sm_86"),
    }
    assert {kernel["spill_store_bytes"] for kernel in kernels} == {0}


def test_a_comparison_with_a_saved_report_fails_where_something_got_worse(tmp_path):
    old = _json(LIBRARY)
    for kernel in old:
        if kernel["name"] == "scale" and kernel["arch"] == "sm_90":
            kernel["registers"] = 7
    saved = tmp_path / "old.json"
    saved.write_text(json.dumps(old))

    done = _resources(LIBRARY, "--diff", saved)
    assert done.returncode == ExitCode.FAILED
    assert done.stdout.startswith("1 worse, 0 better, 5 unchanged, 0 added, 0 removed\n")
    assert done.stdout.splitlines()[-1].split() == ["scale", "sm_90", "7", "→", "8", "0", "0"]

    found = _json(LIBRARY, "--diff", saved, code=ExitCode.FAILED)
    (change,) = found["worse"]
    assert (change["old"]["registers"], change["new"]["registers"]) == (7, 8)


def test_a_comparison_without_a_change_passes():
    done = _resources(LIBRARY, "--diff", LIBRARY)
    assert done.returncode == ExitCode.OK
    assert done.stdout == "0 worse, 0 better, 6 unchanged, 0 added, 0 removed\n"


def test_a_comparison_that_pairs_nothing_checks_nothing():
    done = _resources(LIBRARY, "--diff", DATA / "triton_cache", "--kernel", "reverse|total")
    assert done.returncode == ExitCode.NOTHING_CHECKED
    assert "no kernel in common" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.so"], ExitCode.USAGE, "missing.so: no such file"),
        ([LIBRARY, "--diff", "missing.so"], ExitCode.USAGE, "missing.so: no such file"),
        ([LIBRARY, "--kernel", "["], ExitCode.USAGE, "--kernel '[' is not a regular expression"),
        ([LIBRARY, "--arch", "sm_91"], ExitCode.USAGE, "unknown architecture 'sm_91'"),
        ([LIBRARY, "--arch", "sm_86"], ExitCode.NOTHING_CHECKED, "no kernel for sm_86"),
        ([LIBRARY, "--kernel", "absent"], ExitCode.NOTHING_CHECKED, "no kernel's name matches 'absent'"),
        ([DATA / "host_only.so"], ExitCode.NOTHING_CHECKED, "holds no device code"),
        ([DATA / "broken.cu"], ExitCode.NOT_MEASURED, "broken.cu"),
    ],
)
def test_broken_input_is_one_message_and_its_exit_code(arguments, code, message):
    done = _resources(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.count("guardrail: ") == 1
    assert message in done.stderr


def test_a_truncated_cubin_could_not_be_measured(tmp_path):
    cut = tmp_path / "cut.cubin"
    cut.write_bytes((DATA / "two_kernels.sm_90.cubin").read_bytes()[:3000])
    done = _resources(cut)
    assert (done.returncode, done.stdout) == (ExitCode.NOT_MEASURED, "")
    assert "cut.cubin: truncated: 3000 bytes" in done.stderr


def test_without_a_compiler_the_pip_line_is_given():
    done = _resources(DATA / "unbounded.cu", PATH="")
    if "NVRTC" in done.stdout:
        pytest.skip("NVRTC is installed")
    assert done.returncode == ExitCode.NOT_MEASURED
    assert "pip install cuda-core cuda-bindings nvidia-cuda-nvrtc" in done.stderr
