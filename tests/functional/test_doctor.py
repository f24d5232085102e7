"""The command ``guardrail doctor`` as a user meets it; the fixture hides every GPU."""

import json
import os
import platform
from importlib import metadata

import pytest

from guardrail.errors import ExitCode


@pytest.fixture
def tools(tmp_path):
    """A folder for tools that a test puts on PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    return folder


def _diagnosis(done, code=ExitCode.OK):
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_clean_machine_without_a_gpu_is_told_what_it_can_measure(guardrail):
    done = guardrail("doctor")
    assert (done.returncode, done.stderr) == (ExitCode.OK, "")
    lines = done.stdout.splitlines()
    assert lines[-1] == "nothing would spoil a measurement now"
    assert f"python {platform.python_version()}, torch {metadata.version('torch')}" in lines[1]
    (row,) = [line for line in lines if "compile Triton kernels" in line]
    assert row.split() == [
        *("yes", "compile", "Triton", "kernels", "triton"),
        *(f"{metadata.version('triton')},", "for", "sm_75", "to", "sm_121"),
    ]
    assert max(map(len, lines)) <= 100


def test_a_debug_knob_that_changes_compiled_code_spoils(guardrail):
    done = guardrail("doctor", TRITON_DEBUG="1", CUDA_LAUNCH_BLOCKING="1")
    assert done.returncode == ExitCode.UNDECIDED
    *_, report = done.stdout.partition("would spoil a measurement now\n")
    assert " ".join(report.split()) == (
        "TRITON_DEBUG=1 compiles checks into every kernel, "
        "so registers and timings are not the kernel's own. → unset TRITON_DEBUG"
    )


def test_json_says_the_same_as_the_exit_code(guardrail):
    clean = _diagnosis(guardrail("doctor", "--json"))
    assert (clean["spoiled"], clean["spoilers"], clean["gpus"]) == (False, [], [])
    assert clean["versions"]["triton"] == metadata.version("triton")
    assert [cache["name"] for cache in clean["caches"]] == ["triton", "inductor", "vllm", "driver"]
    spoiled = _diagnosis(guardrail("doctor", "--json", DISABLE_PTXAS_OPT="1"), ExitCode.UNDECIDED)
    assert spoiled["spoiled"] is True
    assert [spoiler["remedy"] for spoiler in spoiled["spoilers"]] == ["unset DISABLE_PTXAS_OPT"]


def test_a_cache_is_cold_until_something_is_compiled_into_it(guardrail, tmp_path):
    def triton():
        return _diagnosis(guardrail("doctor", "--json", TRITON_CACHE_DIR=str(tmp_path / "kernels")))[
            "caches"
        ][0]

    cold = triton()
    assert (cold["artifacts"], cold["bytes"]) == (0, 0)
    (tmp_path / "kernels" / "KEY").mkdir(parents=True)
    (tmp_path / "kernels" / "KEY" / "k.cubin").write_bytes(b"12345")
    warm = triton()
    assert (warm["artifacts"], warm["bytes"]) == (1, 5)
    assert warm["fingerprint"] != cold["fingerprint"]


def test_a_profiler_on_the_path_is_found_with_its_version(guardrail, tools):
    nsys = tools / "nsys"
    nsys.write_text("#!/bin/sh\necho 'NVIDIA Nsight Systems version 2025.3.2.474-1'\n")
    nsys.chmod(0o755)
    found = _diagnosis(guardrail("doctor", "--json", PATH=f"{tools}{os.pathsep}{os.environ['PATH']}"))
    (trace,) = [one for one in found["capabilities"] if "nsys" in one["name"]]
    assert (trace["works"], trace["detail"]) == (True, "with nsys 2025.3.2.474")


def test_a_wrong_profile_beside_the_guards_file_is_a_usage_error(guardrail, folder):
    (folder / "profiles" / "devices").mkdir(parents=True)
    (folder / "profiles" / "devices" / "mine.yaml").write_text("name: mine\n")
    done = guardrail("doctor", "--guards", "none.yaml")
    assert done.returncode == ExitCode.USAGE
    assert "mine.yaml" in done.stderr


def test_no_guards_file_is_needed(guardrail):
    assert guardrail("doctor", "--guards", "nowhere.yaml").returncode == ExitCode.OK


def test_it_answers_without_importing_torch_or_triton(guardrail, folder):
    for library in ("torch", "triton"):
        (folder / library).mkdir()
        (folder / library / "__init__.py").write_text("raise SystemExit('imported')\n")
    done = guardrail("doctor")
    assert "imported" not in done.stdout + done.stderr
    assert done.returncode == ExitCode.OK
