"""The example of dropped work: its README is followed word by word."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "examples" / "dropped_work" / "README.md").read_text()
RUN, PLANTED, PRODUCTION, ON_GPU = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
STORY, RED = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
ROUNDING = re.compile(r"\b\d\.\d+e-0\d\b|\b0\.4\d+\b")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def follow(command: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GUARDRAIL_CACHE_DIR": str(cache),
        "COLUMNS": "100",
        # The README shows what a machine without a GPU prints.
        "CUDA_VISIBLE_DEVICES": "",
    }
    return subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def timeless(text: str) -> list[str]:
    """Leave out the first line with its commit, and how long things took."""
    return re.sub(r" ·? ?\(?(\d+\.\d s|cached)\b(, \d+ cached)?\)?", "", text.strip()).splitlines()[1:]


def test_the_story_is_told_as_the_readme_shows(cache: Path) -> None:
    result = follow(RUN, cache)
    assert (result.returncode, result.stderr) == (0, "")
    # How far roundings and a dropped tail move a logit depends on how the machine adds up.
    assert ROUNDING.sub("#", result.stdout).split() == ROUNDING.sub("#", STORY).split()
    production, planted = (
        float(line.split()[-2])
        for line in result.stdout.splitlines()
        if line.startswith(("production", "planted"))
    )
    assert production < 1e-5
    assert 0.1 < planted < 1.0


def test_the_planted_gate_fails_its_guards_as_the_readme_shows(cache: Path) -> None:
    result = follow(PLANTED, cache)
    assert (result.returncode, result.stderr) == (1, "")
    assert timeless(result.stdout) == timeless(RED)


def test_the_production_gate_passes_the_same_guards(cache: Path) -> None:
    result = follow(PRODUCTION, cache)
    assert (result.returncode, result.stderr) == (0, "")
    assert "2 guards: 2 pass" in result.stdout


def test_the_command_for_a_gpu_names_options_that_exist(cache: Path) -> None:
    result = follow(f"{RUN.strip()} --help", cache)
    assert result.returncode == 0
    for option in ("--model", "qwen2.5-7b", "--json"):
        assert option in ON_GPU
        assert option in result.stdout
