import os
import subprocess
from importlib import metadata

import pytest

from guardrail.adapters.device import Gpu
from guardrail.adapters.surroundings import knobs, provenance, versions


def test_versions_are_those_that_are_installed():
    found = versions()
    assert found["triton"] == metadata.version("triton")
    assert found["torch"] == metadata.version("torch")
    assert "cuda-core" not in found or found["cuda-core"] == metadata.version("cuda-core")
    assert {"python", "machine"} <= set(found)


def test_a_compiler_on_the_path_is_a_version_too(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "nvcc" not in versions()
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(
        "#!/bin/sh\necho 'nvcc: NVIDIA (R) Cuda compiler driver'\necho 'Build cuda_13.1.r13.1/compiler.1'\n"
    )
    nvcc.chmod(0o755)
    assert versions()["nvcc"] == "Build cuda_13.1.r13.1/compiler.1"
    nvcc.write_text("#!/bin/sh\nexit 1\n")
    assert "nvcc" not in versions()


def test_knobs_are_what_can_change_a_measurement(monkeypatch):
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name in (
        "TRITON_X",
        "GUARDRAIL_X",
        "GUARDRAIL_CACHE_DIR",
        "CUDA_X",
        "MY_KNOB",
        "NOT_MY_KNOB",
        "USE_IR_LOC",
        "CUBLAS_WORKSPACE_CONFIG",
        "VLLM_INT4_MQ_3D_DEBUG",
    ):
        monkeypatch.setenv(name, "1")
    assert list(knobs(["MY_KNOB", "UNSET"])) == [
        "CUBLAS_WORKSPACE_CONFIG", "CUDA_X", "GUARDRAIL_X", "MY_KNOB", "TRITON_X", "USE_IR_LOC",
        "VLLM_INT4_MQ_3D_DEBUG",
    ]  # fmt: skip


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git checkout with one commit."""
    for key, value in (("user.name", "n"), ("user.email", "e"), ("commit.gpgsign", "false")):
        count = int(os.environ.get("GIT_CONFIG_COUNT", "0"))
        monkeypatch.setenv("GIT_CONFIG_COUNT", str(count + 1))
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{count}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{count}", value)
    (tmp_path / "guards.yaml").write_text("version: 1\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "m"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True, capture_output=True)
    return tmp_path


def test_provenance_names_commit_changes_gpu_and_knobs(checkout):
    head = (checkout / ".git" / "HEAD").read_text().split()[1]
    gpu = Gpu("NVIDIA H200", "GPU-5a1c", "580.1")
    found = provenance(checkout, gpu, {"TRITON_X": "1"})
    assert found.commit == (checkout / ".git" / head).read_text().strip()
    assert (found.dirty, found.device) == (False, "NVIDIA H200 GPU-5a1c, driver 580.1")
    assert found.knobs == {"TRITON_X": "1"}
    (checkout / "guards.yaml").write_text("version: 2\n")
    assert provenance(checkout, None, {}).dirty is True
    assert provenance(checkout, None, {}).device is None


def test_outside_a_checkout_there_is_no_commit(tmp_path):
    found = provenance(tmp_path, None, {})
    assert (found.commit, found.dirty) == (None, None)


def test_provenance_names_the_state_of_each_compiler_s_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kernels"))
    assert provenance(tmp_path, None, {}).caches["triton"] == "cold"
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "k.cubin").write_bytes(b"1")
    assert provenance(tmp_path, None, {}).caches["triton"].startswith("files: 1, sha256:")
    assert provenance(tmp_path, None, {}).device_settings == {}
