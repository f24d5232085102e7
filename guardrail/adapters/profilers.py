"""Reports and traces of whatever can be profiled outside this process."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from guardrail.adapters.demangle import demangle
from guardrail.adapters.device import executing_gpu
from guardrail.adapters.nsight import read_ncu_report, read_nsys_report
from guardrail.errors import MeasurementError, NothingReadError, ToolMissingError
from guardrail.records.launch import Trace
from guardrail.traces.chrome import read_chrome_trace
from guardrail.traces.detect import read_trace_file

_QUIET = {"KINETO_LOG_LEVEL": "6"}
"""Keeps the profiler's own log lines out of the program's output."""
_BINARY_REPORTS = {".ncu-rep": read_ncu_report, ".nsys-rep": read_nsys_report}


def read_report(path: Path) -> Trace:
    """Read a saved report of any profiler, with C++ names demangled.

    Raises:
        UsageError: It cannot be read, is no report, or is damaged.
        ToolMissingError: Only the tool that wrote it can read it, and is not installed.
        NothingReadError: It holds no work of a GPU.
    """
    binary = _BINARY_REPORTS.get(path.suffix)
    trace = binary(path) if binary and path.is_file() and path.stat().st_size else read_trace_file(path)
    if not trace.launches:
        raise NothingReadError(f"{path}: holds no kernel, copy or fill, so there is nothing to show")
    return _readable(trace)


def profile_python(target: str, arguments: Sequence[str], *, is_module: bool) -> Trace:
    """Run a Python script or module in a child process under torch's profiler.

    What the program prints goes to standard error.

    Raises:
        ToolMissingError: There is no torch.
        MeasurementError: The program failed, or nothing that it did on a GPU was recorded.
    """
    if importlib.util.find_spec("torch") is None:
        raise ToolMissingError("torch", "profile a Python program", "Run: pip install 'gpu-guardrail[gpu]'")
    label = " ".join((*(("python", "-m") if is_module else ("python",)), target, *arguments))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        kind = "module" if is_module else "script"
        runner = [sys.executable, "-m", "guardrail.adapters.profile_script", str(file), kind]
        code = subprocess.run(
            [*runner, target, *arguments], stdout=sys.stderr, env=os.environ | _QUIET, check=False
        ).returncode
        if code:
            raise MeasurementError(f"{label!r} ended with exit code {code}; its output is above")
        if not file.exists():
            raise MeasurementError(
                f"{label!r} left without its trace: it must return or call sys.exit, not os._exit"
            )
        trace = read_chrome_trace(file.read_text(encoding="utf-8"), label)
    if not trace.launches:
        raise MeasurementError(f"{label!r} ran, and no GPU work was recorded: {_why_nothing()}")
    return _readable(trace)


def _readable(trace: Trace) -> Trace:
    launches = tuple(dataclasses.replace(it, name=demangle(it.name)) for it in trace.launches)
    return dataclasses.replace(trace, launches=launches)


def _why_nothing() -> str:
    if executing_gpu() is None:
        return "torch can use no GPU here (a driver, CUDA_VISIBLE_DEVICES, a torch built with CUDA)"
    return (
        "it launched nothing, or in a process of its own, which only nsys sees (guardrail profile -- python)"
    )
