"""Which of NVIDIA's profilers start here, and whether their counters may be read."""

import re
import subprocess
from pathlib import Path

_VERSION = re.compile(r"\b(\d{4}\.\d+(?:\.\d+)*)")
_PARAMETERS = Path("/proc/driver/nvidia/params")
_STATUS = Path("/proc/self/status")
_CAP_SYS_ADMIN = 21


def tool_version(tool: Path) -> str | None:
    """Ask a profiler for its version: ``2025.3.1``; None where it does not start."""
    try:
        answer = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(answer.stdout)
    return found[1] if found else None


def counters_permitted() -> bool | None:
    """Tell whether this user may read the GPU's hardware counters; None where the driver does not say.

    The driver grants them to all, or to processes with CAP_SYS_ADMIN alone (NVIDIA: ERR_NVGPUCTRPERM).
    """
    try:
        restricted = re.search(r"^RmProfilingAdminOnly:\s*(\d)", _PARAMETERS.read_text(), re.MULTILINE)
    except OSError:
        return None
    if restricted is None:
        return None
    return restricted[1] == "0" or _is_administrator()


def _is_administrator() -> bool:
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)", _STATUS.read_text(), re.MULTILINE)
    return effective is not None and bool(int(effective[1], 16) >> _CAP_SYS_ADMIN & 1)
