"""The GPU that kernels would run on, found without importing torch."""

import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pynvml


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as the driver reports it."""

    name: str
    uuid: str
    driver: str


def executing_gpu() -> Gpu | None:
    """Find the GPU that kernels run on; None where they must be interpreted.

    Kernels are interpreted on a machine without a driver or a visible GPU, and where torch was built without
    CUDA.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1") or not _torch_has_cuda():
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        handle = _first_visible()
        return Gpu(
            str(pynvml.nvmlDeviceGetName(handle)),
            str(pynvml.nvmlDeviceGetUUID(handle)),
            str(pynvml.nvmlSystemGetDriverVersion()),
        )
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()


def _first_visible() -> object:
    """Follow CUDA_VISIBLE_DEVICES to its first device, given by index or UUID."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    return (
        pynvml.nvmlDeviceGetHandleByIndex(int(first))
        if first.isdigit()
        else pynvml.nvmlDeviceGetHandleByUUID(first)
    )


def _torch_has_cuda() -> bool:
    """Read from torch's files whether it was built with CUDA; importing it would take seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    version = Path(spec.origin).with_name("version.py")
    return (
        version.is_file() and re.search(r"^cuda\b.*=\s*['\"]", version.read_text(), re.MULTILINE) is not None
    )
