import importlib.util
import shutil
from pathlib import Path

import pytest

from guardrail.adapters.cuda_compiler import compile_cuda
from guardrail.errors import MeasurementError, NothingReadError, ToolMissingError

DATA = Path(__file__).parents[2] / "data" / "resources"

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
needs_nvrtc = pytest.mark.skipif(
    not (importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.core")),
    reason="cuda-core is not installed",
)


@pytest.fixture(params=[pytest.param("nvcc", marks=needs_nvcc), pytest.param("NVRTC", marks=needs_nvrtc)])
def compiler(request, monkeypatch):
    if request.param == "NVRTC":
        monkeypatch.setattr(shutil, "which", lambda _: None)
    return request.param


def test_launch_bounds_that_squeeze_registers_into_spills_are_told_from_none(compiler):
    (free,) = compile_cuda(DATA / "unbounded.cu", "sm_90")
    (squeezed,) = compile_cuda(DATA / "bounded.cu", "sm_90")
    assert (free.name, free.arch) == ("accumulate", "sm_90")
    assert free.spill_bytes == 0
    assert free.registers > 64
    assert squeezed.registers == 40  # 65,536 registers / (6 blocks x 8 warps x 32 threads), in steps of 8
    assert squeezed.spill_store_bytes > 0
    assert squeezed.spill_load_bytes > 0
    assert squeezed.toolchain.startswith(compiler)


def test_spills_are_told_apart_by_the_mangled_name(compiler):
    kernels = compile_cuda(DATA / "two_kernels.cu", "sm_120")
    assert sorted((k.name, k.static_shared_bytes, k.spill_bytes) for k in kernels) == [
        ("scale", 0, 0),
        ("void reverse<256>(float*)", 1024, 0),
    ]


def test_launch_size_and_dynamic_shared_memory_are_not_known(compiler):
    (kernel,) = compile_cuda(DATA / "unbounded.cu", "sm_86")
    assert (kernel.threads, kernel.dynamic_shared_bytes, kernel.blocks_per_sm) == (None, None, None)


def test_an_error_is_the_compilers_own_with_file_and_line(compiler):
    with pytest.raises(MeasurementError, match=r'broken.cu\(2\): error: identifier "factor" is undefined'):
        compile_cuda(DATA / "broken.cu", "sm_90")


def test_a_file_without_a_kernel_checks_nothing(compiler, tmp_path):
    source = tmp_path / "host.cu"
    source.write_text("template <int size> __global__ void unused(float *values) { *values = size; }\n")
    with pytest.raises(NothingReadError, match=r"host\.cu: compiles, and defines no kernel"):
        compile_cuda(source, "sm_90")


def test_without_a_compiler_the_command_that_installs_one_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ToolMissingError, match="pip install cuda-core cuda-bindings nvidia-cuda-nvrtc"):
        compile_cuda(DATA / "unbounded.cu", "sm_90")
