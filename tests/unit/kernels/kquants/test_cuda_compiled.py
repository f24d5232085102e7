"""What NVRTC makes of the CUDA C++ kernels, read without a GPU."""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from guardrail.adapters.cuobjdump import read_binary
from guardrail.errors import MeasurementError, ToolMissingError
from guardrail.kernels.kquants import cuda_module, cuda_operands, cuda_quantize
from guardrail.kernels.kquants.cuda_course import FORMAT_MACROS, Course, Product
from guardrail.kernels.kquants.cuda_module import Macros
from guardrail.kernels.kquants.residual_stream import ResidualStream, UnnormalizedGroups
from guardrail.kernels.q4k import cuda_matvec as q4k_cuda
from guardrail.kernels.q6k import cuda_matvec as q6k_cuda
from helpers.sass import disassembled

pytestmark = pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="cuda-core is not installed")

REGISTERS_PER_SM = 65_536
ROWS = {
    "long": (5_120, 432),
    "short": (27_648, 160),
    "hidden": (3_584, 112),
    "down": (3_584, 592),
    "heads": (4_608, 112),
    "reach": (3_584, 256),
}
NORMED = UnnormalizedGroups.empty(32, 1e-6, "cpu")
STREAM = ResidualStream(torch.empty(32), torch.empty(32), NORMED)
OPERANDS: dict[str, Macros] = {
    "plain": (),
    "unnormalized": cuda_operands.read(NORMED).macros,
    "residual stream": cuda_operands.written(STREAM).macros,
}


def cubin_of(product: Product, course: Course, arch: str, folder: Path, operands: str = "plain") -> Path:
    macros = dict(product.compiled_with(course, OPERANDS[operands]))
    path = folder / "kernels.cubin"
    path.write_bytes(cuda_module.compile_cubin(product.source, macros, arch))
    return path


def products(units: int) -> list[Product]:
    return [q6k_cuda.product("v2_pf", units), q6k_cuda.product("v2_pf_dpl", units), q4k_cuda.product(units)]


def course_of(product: Product, rows: int, units: int, operands: str = "plain") -> Course:
    """Divide a product as its launch does."""
    grouped = operands == "residual stream"
    if product.kernel == "cuda_mmvq_q4k":
        return q4k_cuda.pick_course(rows, units, grouped=grouped)
    return q6k_cuda.course_of(product.kernel.removeprefix("cuda_mmvq_"), rows, units, grouped=grouped)


@pytest.mark.parametrize(
    ("arch", "row", "operands"),
    [
        ("sm_86", "short", "plain"),
        ("sm_86", "short", "unnormalized"),
        ("sm_86", "down", "residual stream"),
        ("sm_90", "short", "plain"),
        ("sm_90", "long", "plain"),
        ("sm_90", "heads", "unnormalized"),
        ("sm_90", "short", "unnormalized"),
        ("sm_90", "hidden", "residual stream"),
        ("sm_90", "down", "residual stream"),
        ("sm_90", "long", "residual stream"),
        ("sm_90", "reach", "residual stream"),
        ("sm_120", "reach", "residual stream"),
        ("sm_120", "long", "plain"),
        ("sm_120", "hidden", "residual stream"),
    ],
)
def test_shipped_divisions_keep_their_tiles_in_registers(
    arch: str, row: str, operands: str, tmp_path: Path
) -> None:
    rows, units = ROWS[row]
    for product in products(units):
        course = course_of(product, rows, units, operands)
        for kernel in read_binary(cubin_of(product, course, arch, tmp_path, operands), "NVRTC"):
            assert kernel.stack_bytes == 0, kernel.symbol
            assert kernel.registers * course.threads * course.blocks_per_sm <= REGISTERS_PER_SM


def test_one_block_more_than_fits_makes_the_kernel_spill(tmp_path: Path) -> None:
    course = Course(threads=256, lanes_per_row=32, tasks_per_lane=3, blocks_per_sm=2)
    squeezed = cubin_of(q6k_cuda.product("v2_dpl", 160), replace(course, blocks_per_sm=3), "sm_90", tmp_path)
    assert all(kernel.registers == 80 and kernel.stack_bytes > 0 for kernel in read_binary(squeezed, "NVRTC"))


@pytest.mark.parametrize(
    ("arch", "operands", "row"),
    [
        ("sm_90", "plain", "short"),
        ("sm_90", "unnormalized", "short"),
        ("sm_90", "residual stream", "hidden"),
        ("sm_90", "residual stream", "down"),
        ("sm_100", "residual stream", "down"),
        ("sm_120", "residual stream", "hidden"),
        ("sm_120", "residual stream", "long"),
        ("sm_120", "unnormalized", "heads"),
    ],
)
def test_weights_are_sent_for_16_bytes_at_a_time_and_before_the_wait(
    arch: str, operands: str, row: str, tmp_path: Path
) -> None:
    rows, units = ROWS[row]
    for product in products(units):
        course = course_of(product, rows, units, operands)
        code = disassembled(cubin_of(product, course, arch, tmp_path, operands))
        for name, instructions in code.items():
            wait = next(index for index, each in enumerate(instructions) if "ACQBULK" in each)
            wide = [index for index, each in enumerate(instructions) if re.search(r"LDG\.\S*128", each)]
            assert sum(index < wait for index in wide) == 3 * course.tasks_per_lane, name
            assert not any("STL" in each or "LDL" in each for each in instructions), name


@pytest.mark.parametrize("dtype", cuda_quantize.ELEMENTS, ids=str)
def test_quantization_compiles_for_every_element_type(dtype: object, tmp_path: Path) -> None:
    macros = dict((*cuda_quantize.ELEMENTS[dtype], *FORMAT_MACROS, ("THREADS", 128)))
    cubin = tmp_path / "quantize.cubin"
    cubin.write_bytes(cuda_module.compile_cubin(cuda_quantize.SOURCE, macros, "sm_90"))
    (kernel,) = read_binary(cubin, "NVRTC")
    assert (kernel.symbol, kernel.stack_bytes) == ("cuda_quantize", 0)


def test_a_missing_macro_is_the_compilers_message_with_the_file() -> None:
    source = q6k_cuda.product("v2", 160).source
    with pytest.raises(MeasurementError, match=r"mmvq\.cu does not compile for sm_90:(.|\n)*THREADS"):
        cuda_module.compile_cubin(source, dict(FORMAT_MACROS), "sm_90")


def test_a_missing_compiler_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda.bindings import nvrtc

    def missing() -> None:
        raise RuntimeError("libnvrtc.so.13: no such file")

    monkeypatch.setattr(nvrtc, "nvrtcVersion", missing)
    cuda_module.compiler.cache_clear()
    with pytest.raises(ToolMissingError, match=r"NVRTC \(libnvrtc.*pip install cuda-core cuda-bindings"):
        cuda_module.compile_cubin(q6k_cuda.product("v2", 160).source, {}, "sm_90")
    cuda_module.compiler.cache_clear()
