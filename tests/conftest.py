"""Shared set-up: kernels run in Triton's interpreter where there is no GPU."""

import os
from pathlib import Path

import pytest

HAS_GPU = Path("/dev/nvidia0").exists()
if not HAS_GPU:
    # Triton reads this when a kernel is decorated, so it must be set before any kernel module is imported.
    os.environ["TRITON_INTERPRET"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked ``gpu`` on a machine that has none."""
    if HAS_GPU:
        return
    no_gpu = pytest.mark.skip(reason="no CUDA device on this machine (/dev/nvidia0)")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)
