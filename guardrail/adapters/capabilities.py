"""What can be measured without a GPU on this machine, found without importing torch or triton."""

import importlib.util
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from guardrail.adapters.cuobjdump import find_cuobjdump
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.errors import ToolMissingError
from guardrail.records.doctor import Capability

_OLDEST_TRITON, _NEWEST_TRITON = (3, 6), (3, 9)
_INSTALL_GPU_EXTRA = "Run: pip install 'gpu-guardrail[gpu]'"
_INSTALL_CUDA_EXTRA = "Run: pip install 'gpu-guardrail[cuda]'"


def static_capabilities(versions: Mapping[str, str]) -> tuple[Capability, ...]:
    """Tell which measurements work that need no GPU.

    Args:
        versions: Installed version of each library.
    """
    return (
        _binaries(versions),
        _triton(versions.get("triton")),
        _cuda_cpp(versions),
        _interpreter(versions),
    )


def _binaries(versions: Mapping[str, str]) -> Capability:
    name = "read compiled binaries"
    try:
        tool = find_cuobjdump()
    except ToolMissingError as error:
        return Capability(name, False, f"{error.tool} is not installed", error.remedy)
    version = versions.get("nvidia-cuda-cuobjdump")
    return Capability(name, True, f"with cuobjdump {version}" if version else f"with {tool}")


def _triton(version: str | None) -> Capability:
    name = "compile Triton kernels"
    if version is None:
        return Capability(name, False, "triton is not installed", _INSTALL_GPU_EXTRA)
    if not _OLDEST_TRITON <= _minor(version) <= _NEWEST_TRITON:
        return Capability(name, False, f"triton {version} is none of 3.6 to 3.9", _INSTALL_GPU_EXTRA)
    assembler = _assembler()
    if not assembler.is_file():
        return Capability(name, False, f"there is no assembler {assembler}", "Run: pip install -I triton")
    targets = list(ARCHITECTURES)
    return Capability(name, True, f"triton {version}, for {targets[0]} to {targets[-1]}")


def _assembler() -> Path:
    """Find ptxas as Triton does."""
    if path := os.environ.get("TRITON_PTXAS_PATH"):
        return Path(path)
    spec = importlib.util.find_spec("triton")
    package = Path(spec.origin).parent if spec and spec.origin else Path("triton")
    return package / "backends" / "nvidia" / "bin" / "ptxas"


def _cuda_cpp(versions: Mapping[str, str]) -> Capability:
    name = "compile CUDA C++ kernels"
    if shutil.which("nvcc"):
        return Capability(name, True, f"with nvcc ({versions.get('nvcc', 'of unknown version')})")
    libraries = [library for library in versions if library.startswith("nvidia-cuda-nvrtc")]
    if libraries and "cuda-core" in versions:
        return Capability(name, True, f"with NVRTC {versions[libraries[0]]}")
    return Capability(name, False, "there is neither nvcc nor NVRTC with cuda-core", _INSTALL_CUDA_EXTRA)


def _interpreter(versions: Mapping[str, str]) -> Capability:
    name = "run Triton kernels without a GPU"
    missing = [library for library in ("torch", "triton", "numpy") if library not in versions]
    if missing:
        return Capability(name, False, f"{' and '.join(missing)} not installed", _INSTALL_GPU_EXTRA)
    triton, numpy = versions["triton"], versions["numpy"]
    if _minor(triton) < (3, 7) and _minor(numpy) >= (2, 5):
        # It turns arrays of one element into numbers, which numpy 2.5 refuses.
        detail = f"the interpreter of triton {triton} fails under numpy {numpy}"
        return Capability(name, False, detail, "Run: pip install 'numpy<2.5'")
    return Capability(name, True, f"in the interpreter, with numpy {numpy}")


def _minor(version: str) -> tuple[int, int]:
    """Read the first two numbers of a version: ``2.13.0+cpu`` is (2, 13)."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
