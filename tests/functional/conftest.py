"""Running the command line as a user does, in a folder of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.folders import install

CASES = Path(__file__).parent / "cases"

CommandLine = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the cases, outside every checkout, with the probe of the cases installed."""
    copy = tmp_path / "cases"
    shutil.copytree(CASES, copy, ignore=shutil.ignore_patterns("__pycache__"))
    install(copy, "noise", "guardrail.probes", {"noise": "noise_probe:NoiseProbe"})
    return copy


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that the tests share, so that each measurement is made once."""
    return tmp_path_factory.mktemp("measurements")


@pytest.fixture
def environment(folder: Path, cache: Path) -> dict[str, str]:
    """The environment that commands run in, and nothing else of this process's."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {
        "HOME": str(folder),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GUARDRAIL_CACHE_DIR": str(cache),
        "COLUMNS": "100",
        "LANG": "C.UTF-8",
        # The kept outputs are those of a machine without a GPU.
        "CUDA_VISIBLE_DEVICES": "",
    }


@pytest.fixture
def guardrail(folder: Path, environment: dict[str, str]) -> CommandLine:
    """Run ``guardrail`` with arguments and further environment variables, and capture what it prints."""

    def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "guardrail", *map(str, arguments)],
            cwd=folder,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
