"""Provenance of a run, and what every measurement's key contains besides its own task."""

import os
import platform
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from guardrail.adapters.compile_caches import compile_caches
from guardrail.adapters.device import Gpu
from guardrail.adapters.device_settings import set_up
from guardrail.records.provenance import Provenance
from guardrail.rules.debug_knobs import may_debug
from guardrail.store.cache import CACHE_VARIABLE

_LIBRARIES = (
    "torch",
    "triton",
    "numpy",
    "nvidia-cuda-cuobjdump",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12",
    "cuda-bindings",
    "cuda-core",
)

_KNOB_PREFIXES = (
    "TRITON_",
    "GUARDRAIL_",
    "CUDA_",
    "PTXAS_",
    "NVCC_",
    # Triton and its LLVM read these too.
    "NVPTX_",
    "LLVM_",
    "MLIR_",
    "DISABLE_LLVM_OPT",
    "DISABLE_PTXAS_OPT",
    "USE_IR_LOC",
)


def versions() -> dict[str, str]:
    """Name the installed version of each library that measurements depend on."""
    found: dict[str, str] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if shutil.which("nvcc") and (answer := _output("nvcc", "--version")):
        found["nvcc"] = answer.splitlines()[-1]
    return found


def knobs(of_families: Iterable[str]) -> dict[str, str]:
    """Collect the environment variables in force that can change a measurement.

    Args:
        of_families: Variables that kernel families say they read.
    """
    named = frozenset(of_families)
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if (name in named or name.startswith(_KNOB_PREFIXES) or may_debug(name)) and name != CACHE_VARIABLE
    }


def provenance(folder: Path, gpu: Gpu | None, in_force: Mapping[str, str]) -> Provenance:
    """Describe a run that begins now.

    Args:
        folder: Folder of the guards file, whose git checkout is named.
        gpu: The GPU that kernels run on, if any.
        in_force: The environment variables that can change a measurement.
    """
    git = ("git", "-C", str(folder))
    commit = _output(*git, "rev-parse", "HEAD")
    changes = _output(*git, "status", "--porcelain") if commit else None
    return Provenance(
        time=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        command=shlex.join(["guardrail", *sys.argv[1:]]),
        host=socket.gethostname(),
        python=platform.python_version(),
        versions=versions(),
        commit=commit,
        dirty=None if changes is None else bool(changes),
        knobs=in_force,
        device=f"{gpu.name} {gpu.uuid}, driver {gpu.driver}" if gpu else None,
        device_settings=set_up(gpu.uuid) if gpu else {},
        caches={cache.name: cache.state for cache in compile_caches()},
    )


def _output(*command: str) -> str | None:
    """Run a tool; None where it is missing or fails, as git does outside a checkout."""
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
