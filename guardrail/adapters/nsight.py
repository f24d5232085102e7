"""NVIDIA's profilers, where they are installed: Nsight Compute (ncu) and Nsight Systems (nsys)."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from guardrail.errors import MeasurementError, ToolMissingError, UsageError
from guardrail.records.launch import Trace
from guardrail.traces.ncu_csv import DURATION, read_ncu_csv
from guardrail.traces.nsys_sqlite import read_nsys_sqlite

_CUDA_FOLDERS = ("/usr/local/cuda/bin",)
_OWN_FOLDERS = {"ncu": "opt/nvidia/nsight-compute/*", "nsys": "opt/nvidia/nsight-systems/*/bin"}
_ADDS = {
    "ncu": "read hardware counters, kernel by kernel, of any command",
    "nsys": "record every kernel, copy and NVTX range of any command",
}
_REMEDIES = {
    "ncu": "Install NVIDIA Nsight Compute (part of the CUDA toolkit; Debian package nsight-compute) and put "
    "ncu on PATH",
    "nsys": "Install NVIDIA Nsight Systems (Debian package nsight-systems-cli) and put nsys on PATH",
}
_COUNTERS = (
    DURATION,
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
)
_NO_PERMISSION = "ERR_NVGPUCTRPERM"
_ERROR = re.compile(r"^==ERROR==\s*(.+)$", re.MULTILINE)


def find_tool(name: str) -> Path | None:
    """Find ``ncu`` or ``nsys`` on PATH or where NVIDIA's packages put it, the newest first."""
    if found := shutil.which(name):
        return Path(found)
    home = os.environ.get("CUDA_HOME")
    folders = [Path(folder) for folder in (*([f"{home}/bin"] if home else []), *_CUDA_FOLDERS)]
    folders += sorted(Path("/").glob(_OWN_FOLDERS[name]), reverse=True)
    return next((folder / name for folder in folders if os.access(folder / name, os.X_OK)), None)


def require_tool(name: str) -> Path:
    """Find ``ncu`` or ``nsys``.

    Raises:
        ToolMissingError: It is not installed; the message says what it would add and how to get it.
    """
    tool = find_tool(name)
    if tool is None:
        raise ToolMissingError(name, _ADDS[name], _REMEDIES[name])
    return tool


def profile_command(command: Sequence[str], counters: Sequence[str] = ()) -> Trace:
    """Run a command under nsys, or under ncu where counters are asked for or nsys is not installed.

    What the command prints goes to standard error.

    Raises:
        ToolMissingError: Neither is installed, or not the one that is needed.
        MeasurementError: The command or its profiler failed.
    """
    if counters or (find_tool("nsys") is None and find_tool("ncu") is not None):
        return profile_with_ncu(command, counters)
    return _profile_with_nsys(command)


def profile_with_ncu(command: Sequence[str], counters: Sequence[str], options: Sequence[str] = ()) -> Trace:
    """Run a command under ncu, clocks left alone, and read its counters.

    Args:
        command: What to run.
        counters: Counters by ncu's names, beside those that the table needs.
        options: Further options of ncu, that narrow what is profiled.

    Raises:
        ToolMissingError: There is no ncu.
        MeasurementError: The command or ncu failed, or profiled nothing.
    """
    tool = require_tool("ncu")
    label = " ".join(command)
    with tempfile.TemporaryDirectory() as folder:
        report, log = Path(folder) / "report.ncu-rep", Path(folder) / "log"
        metrics = ",".join(dict.fromkeys((*_COUNTERS, *counters)))
        code = _run(
            [
                *(str(tool), "--target-processes", "all", "--clock-control", "none", "--metrics", metrics),
                *("--log-file", str(log), "--force-overwrite", "--export", str(report), *options, *command),
            ]
        )
        said = log.read_text(errors="replace") if log.exists() else ""
        if code or not report.exists():
            raise MeasurementError(f"ncu could not profile {label!r}: {_complaint(said, code)}")
        return _import_ncu(tool, report, label)


def read_ncu_report(path: Path) -> Trace:
    """Read a ``.ncu-rep`` by way of ncu.

    Raises:
        ToolMissingError: There is no ncu.
        UsageError: ncu cannot read the file.
    """
    return _import_ncu(require_tool("ncu"), path, str(path))


def read_nsys_report(path: Path) -> Trace:
    """Read a ``.nsys-rep`` by way of ``nsys export``.

    Raises:
        ToolMissingError: There is no nsys.
        UsageError: nsys cannot read the file.
    """
    return _export_nsys(require_tool("nsys"), path, str(path))


def _profile_with_nsys(command: Sequence[str]) -> Trace:
    tool = require_tool("nsys")
    label = " ".join(command)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.nsys-rep"
        code = _run(
            [
                *(str(tool), "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none"),
                *("--cuda-graph-trace=node", "--force-overwrite=true", f"--output={report}", *command),
            ]
        )
        if code or not report.exists():
            raise MeasurementError(f"{label!r} under nsys ended with exit code {code}; its output is above")
        return _export_nsys(tool, report, label)


def _import_ncu(tool: Path, report: Path, source: str) -> Trace:
    text = _convert([str(tool), "--import", str(report), "--csv", "--page", "raw"], report, source)
    return read_ncu_csv(text, source)


def _export_nsys(tool: Path, report: Path, source: str) -> Trace:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "report.sqlite"
        options = ["--type=sqlite", "--force-overwrite=true", f"--output={database}"]
        _convert([str(tool), "export", *options, str(report)], report, source)
        return read_nsys_sqlite(database, source)


def _run(command: Sequence[str]) -> int:
    """Run a command whose output must not mix with the report on standard output."""
    try:
        return subprocess.run(command, stdout=sys.stderr, env=_environment(), check=False).returncode
    except OSError as error:
        raise MeasurementError(f"{command[0]}: cannot be run: {error.strerror}") from error


def _convert(command: Sequence[str], report: Path, source: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(), check=False)
    if done.returncode:
        said = _complaint(done.stdout + done.stderr, done.returncode)
        raise UsageError(f"{source}: {Path(command[0]).name} cannot read {report.name}: {said}")
    return done.stdout


def _complaint(said: str, code: int) -> str:
    if _NO_PERMISSION in said:
        return (
            "this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM); run as root, or load "
            "the driver with NVreg_RestrictProfilingToAdminUsers=0"
        )
    errors = _ERROR.findall(said)
    return errors[0] if errors else f"exit code {code}" + (f": {said.strip()[-300:]}" if said.strip() else "")


def _environment() -> dict[str, str]:
    """Make tools write numbers as in 1,234.5, whatever the user's language."""
    return os.environ | {"LC_ALL": "C.UTF-8"}
