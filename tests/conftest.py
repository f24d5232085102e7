"""Shared set-up: kernels run in Triton's interpreter where there is no GPU."""

import gc
import os
from pathlib import Path

import pytest

HAS_GPU = Path("/dev/nvidia0").exists()
if not HAS_GPU:
    # Triton reads this when a kernel is decorated, so it must be set before any kernel module is imported.
    os.environ["TRITON_INTERPRET"] = "1"
    # The interpreter makes millions of objects that live for an instant and form no cycles.
    gc.set_threshold(50_000, 20, 20)

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers already share the cores between them; torch reads this when it is imported.
    os.environ["OMP_NUM_THREADS"] = "1"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run tests one after another where there is a GPU: those beside would use it too, and be measured."""
    # Each worker imports torch, and the longest tests end no sooner for more of them.
    return 0 if HAS_GPU else min(len(os.sched_getaffinity(0)), 8)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``gpu`` on a machine that has none."""
    if HAS_GPU:
        return
    no_gpu = pytest.mark.skip(reason="no CUDA device on this machine (/dev/nvidia0)")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)
