"""Running a Python program under torch's profiler; started as a process of its own.

``python -m guardrail.adapters.profile_script TRACE script|module TARGET [ARGUMENT ...]``
"""

import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType


def record(trace: Path, kind: str, target: str, arguments: Sequence[str]) -> int:
    """Run a program as ``__main__`` and export the trace of what it did.

    Args:
        trace: Where to write the Chrome trace.
        kind: ``script`` or ``module``.
        target: The script's path or the module's name.
        arguments: What the program finds behind its own name in ``sys.argv``.

    Returns:
        The program's exit code.
    """
    import torch
    from torch.profiler import ProfilerActivity, profile

    has_cuda = torch.cuda.is_available()
    sys.argv = [target, *arguments]
    sys.path[0] = str(Path(target).resolve().parent) if kind == "script" else str(Path.cwd())
    # Host activity is what puts named ranges into the trace.
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if has_cuda else [])]
    with profile(activities=activities, acc_events=True) as session:
        code = _run(kind, target)
        if has_cuda:
            torch.cuda.synchronize()
    session.export_chrome_trace(str(trace))
    return code


def _run(kind: str, target: str) -> int:
    try:
        if kind == "script":
            runpy.run_path(target, run_name="__main__")
        else:
            runpy.run_module(target, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except BaseException as error:  # noqa: BLE001 - the program's own failure, shown as Python would
        traceback.print_exception(error.with_traceback(_own_frames(error.__traceback__)))
        return 1
    return 0


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """Leave out the frames between this module and the program."""
    while frames and frames.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        frames = frames.tb_next
    return frames


if __name__ == "__main__":
    sys.exit(record(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))
