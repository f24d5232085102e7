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
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1") or torch_cuda_version() is None:
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


def torch_cuda_version() -> str | None:
    """Read from torch's files which CUDA it was built with; importing it would take seconds.

    Returns:
        ``13.0``; None where torch is missing or was built without CUDA.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    version = Path(spec.origin).with_name("version.py")
    if not version.is_file():
        return None
    found = re.search(r"^cuda\b.*=\s*['\"](.+)['\"]", version.read_text(), re.MULTILINE)
    return found[1] if found else None
