import importlib.util
import re
import shutil
from pathlib import Path

import pytest

from guardrail.adapters import cuobjdump
from guardrail.adapters.cuobjdump import find_cuobjdump, read_binary
from guardrail.errors import ExitCode, MeasurementError, NothingReadError, ToolMissingError

DATA = Path(__file__).parents[2] / "data" / "resources"


def _figures(name):
    return [
        (kernel.name, kernel.arch, kernel.registers, kernel.static_shared_bytes)
        for kernel in read_binary(DATA / name)
    ]


def test_a_library_yields_every_kernel_of_every_architecture():
    assert _figures("two_kernels.so") == [
        ("void reverse<256>(float*)", "sm_75", 10, 1024),
        ("scale", "sm_75", 8, 0),
        ("void reverse<256>(float*)", "sm_90", 10, 1024),
        ("scale", "sm_90", 8, 0),
        ("void reverse<256>(float*)", "sm_120", 10, 1024),
        ("scale", "sm_120", 8, 0),
    ]


def test_a_cubin_yields_its_kernels_under_both_abi_versions():
    assert _figures("two_kernels.sm_90.cubin") == [
        ("void reverse<256>(float*)", "sm_90", 10, 1024),
        ("scale", "sm_90", 8, 0),
    ]
    assert _figures("two_kernels.abi7.sm_86.cubin") == [
        ("void reverse<256>(float*)", "sm_86", 10, 1024),
        ("scale", "sm_86", 8, 0),
    ]


def test_the_reader_and_its_version_are_the_toolchain_of_a_foreign_binary():
    (toolchain,) = {kernel.toolchain for kernel in read_binary(DATA / "two_kernels.so")}
    assert re.fullmatch(r"cuobjdump \d+\.\d+\.\d+", toolchain)
    (toolchain,) = {kernel.toolchain for kernel in read_binary(DATA / "two_kernels.so", "nvcc 13.0.88")}
    assert toolchain == "nvcc 13.0.88"


def test_a_library_without_device_code_checks_nothing():
    with pytest.raises(NothingReadError, match=r"host_only\.so: holds no device code") as raised:
        list(read_binary(DATA / "host_only.so"))
    assert raised.value.exit_code == ExitCode.NOTHING_CHECKED


@pytest.mark.parametrize("size", [40, 1500, 4500])
def test_a_truncated_cubin_could_not_be_measured(tmp_path, size):
    cut = tmp_path / "cut.cubin"
    cut.write_bytes((DATA / "two_kernels.sm_90.cubin").read_bytes()[:size])
    with pytest.raises(MeasurementError, match=f"cut.cubin: truncated: {size} bytes") as raised:
        list(read_binary(cut))
    assert raised.value.exit_code == ExitCode.NOT_MEASURED


def test_a_cubin_that_the_tool_cannot_read_is_damaged(tmp_path):
    damaged = tmp_path / "damaged.cubin"
    content = bytearray((DATA / "two_kernels.sm_90.cubin").read_bytes())
    content[64:] = bytes(len(content) - 64)
    damaged.write_bytes(content)
    with pytest.raises(MeasurementError, match=r"damaged\.cubin: "):
        list(read_binary(damaged))


def test_a_failing_tool_is_quoted(tmp_path, monkeypatch):
    tool = tmp_path / "cuobjdump"
    tool.write_text("#!/bin/sh\necho 'cuobjdump fatal   : out of luck' >&2\nexit 7\n")
    tool.chmod(0o755)
    monkeypatch.setattr(cuobjdump, "find_cuobjdump", lambda: tool)
    with pytest.raises(MeasurementError, match="exit code 7: cuobjdump fatal   : out of luck"):
        list(read_binary(DATA / "two_kernels.so"))


def test_lines_survive_where_a_block_ends_inside_them(monkeypatch):
    monkeypatch.setattr(cuobjdump, "_PIPE_BYTES", 7)
    assert len(_figures("two_kernels.so")) == 6


def test_nvidias_wheel_comes_first_then_tritons_then_path(tmp_path, monkeypatch):
    def package(name, tool):
        folder = tmp_path / name
        (folder / tool).parent.mkdir(parents=True)
        (folder / tool).touch()
        spec = importlib.util.spec_from_loader(name, None)
        spec.submodule_search_locations = [str(folder)]
        return spec

    specs = {
        "nvidia": package("nvidia", "cu13/bin/cuobjdump"),
        "triton": package("triton", "backends/nvidia/bin/cuobjdump"),
    }
    monkeypatch.setattr(importlib.util, "find_spec", specs.get)
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/local/cuda/bin/{tool}")
    assert find_cuobjdump() == tmp_path / "nvidia/cu13/bin/cuobjdump"
    del specs["nvidia"]
    assert find_cuobjdump() == tmp_path / "triton/backends/nvidia/bin/cuobjdump"
    del specs["triton"]
    assert find_cuobjdump() == Path("/usr/local/cuda/bin/cuobjdump")


def test_a_missing_tool_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ToolMissingError, match="pip install nvidia-cuda-cuobjdump") as raised:
        find_cuobjdump()
    assert raised.value.exit_code == ExitCode.NOT_MEASURED
