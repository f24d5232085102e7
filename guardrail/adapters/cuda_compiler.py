"""CUDA C++ files compiled to a cubin, with the log of the assembler that made it."""

import importlib.util
import io
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from guardrail.adapters.cuobjdump import read_binary
from guardrail.compiled.ptxas_log import parse_ptxas_log
from guardrail.compiled.resources import KernelResources
from guardrail.errors import MeasurementError, NothingReadError, ToolMissingError

_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class _Compilation:
    cubin: bytes
    log: str
    toolchain: str


def compile_cuda(source: Path, arch: str) -> list[KernelResources]:
    """Compile a ``.cu`` file for one architecture and read its kernels.

    nvcc is taken where it is on PATH, else NVRTC, which compiles device code only.

    Args:
        source: The file.
        arch: ``sm_90``.

    Returns:
        The kernels with the spills of this very compilation; launch size and dynamic shared memory are not
        known.

    Raises:
        ToolMissingError: There is neither compiler.
        MeasurementError: The file does not compile; the message is the compiler's.
        NothingReadError: It compiles and holds no kernel.
    """
    compilation = _by_nvcc(source, arch) if shutil.which("nvcc") else _by_nvrtc(source, arch)
    spills = parse_ptxas_log(compilation.log)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, f"{source.stem}.cubin")
        cubin.write_bytes(compilation.cubin)
        kernels = list(read_binary(cubin, compilation.toolchain))
    if not kernels:
        raise NothingReadError(f"{source}: compiles, and defines no kernel; templates need an instantiation")
    return [
        replace(
            kernel,
            arch=arch,
            spill_store_bytes=spills[kernel.symbol].store_bytes,
            spill_load_bytes=spills[kernel.symbol].load_bytes,
        )
        for kernel in kernels
    ]


def _by_nvcc(source: Path, arch: str) -> _Compilation:
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False).stdout
    found = _VERSION.search(version)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, "kernels.cubin")
        command = ["nvcc", "-cubin", f"-arch={arch}", "-Xptxas", "-v", str(source), "-o", str(cubin)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise _does_not_compile(source, arch, result.stderr or result.stdout)
        return _Compilation(cubin.read_bytes(), result.stderr, f"nvcc {found[1] if found else 'unknown'}")


def _by_nvrtc(source: Path, arch: str) -> _Compilation:
    if importlib.util.find_spec("cuda") is None:
        raise ToolMissingError(
            "a CUDA C++ compiler (nvcc or NVRTC)",
            f"compile {source}",
            "Run: pip install cuda-core cuda-bindings nvidia-cuda-nvrtc",
        )
    try:
        from cuda.bindings import nvrtc
        from cuda.core import Program, ProgramOptions
        from cuda.core._utils.cuda_utils import CUDAError
    except ImportError as error:
        raise ToolMissingError(
            f"NVRTC ({error})",
            f"compile {source}",
            "Run: pip install cuda-core cuda-bindings nvidia-cuda-nvrtc",
        ) from None
    log = io.StringIO()
    options = ProgramOptions(
        name=str(source), arch=arch, ptxas_options=["-v"], include_path=[str(source.parent)], no_cache=True
    )
    try:
        code = Program(source.read_text(), "c++", options).compile("cubin", logs=log).code
    except (CUDAError, RuntimeError) as error:
        raise _does_not_compile(source, arch, str(error)) from None
    _, major, minor = nvrtc.nvrtcVersion()
    return _Compilation(bytes(code), log.getvalue(), f"NVRTC {major}.{minor}")


def _does_not_compile(source: Path, arch: str, message: str) -> MeasurementError:
    return MeasurementError(f"{source} does not compile for {arch}:\n{message.strip()}")
