"""Provenance of a run, and what every measurement's key contains besides its own task."""

import os
import platform
import shlex
import socket
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from guardrail.adapters.device import Gpu
from guardrail.records.provenance import Provenance
from guardrail.store.cache import CACHE_VARIABLE

_LIBRARIES = ("torch", "triton", "numpy", "nvidia-cuda-cuobjdump", "nvidia-cuda-nvrtc", "cuda-core")


def versions() -> dict[str, str]:
    """Name the installed version of each library that measurements depend on."""
    found: dict[str, str] = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def knobs() -> dict[str, str]:
    """Collect the environment variables in force that can change a measurement."""
    prefixes = ("TRITON_", "GUARDRAIL_", "CUDA_", "PTXAS_", "NVCC_")
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(prefixes) and name != CACHE_VARIABLE
    }


def provenance(folder: Path, gpu: Gpu | None) -> Provenance:
    """Describe this run.

    Args:
        folder: Folder of the guards file, whose git checkout is named.
        gpu: The GPU that kernels run on, if any.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain") if commit else None
    return Provenance(
        time=datetime.now(UTC).astimezone().isoformat(timespec="seconds"),
        command=shlex.join(["guardrail", *sys.argv[1:]]),
        host=socket.gethostname(),
        python=platform.python_version(),
        versions=versions(),
        commit=commit,
        dirty=None if changes is None else bool(changes),
        knobs=knobs(),
        device=f"{gpu.name} {gpu.uuid}, driver {gpu.driver}" if gpu else None,
    )


def _git(folder: Path, *arguments: str) -> str | None:
    """Ask git about a folder; None without git or outside a checkout."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
