"""The example of a user's own kernel family: its README is followed word by word, on a copy."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_family"
README = (EXAMPLE / "README.md").read_text()
CHECK, BREAK, SELF_TEST = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
GREEN, RED = re.findall(r"```text\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(
        EXAMPLE, tmp_path / "examples" / "custom_family", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path


def follow(commands: str, folder: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GUARDRAIL_CACHE_DIR": str(cache),
        "COLUMNS": "100",
        # The README shows what a machine without a GPU prints.
        "CUDA_VISIBLE_DEVICES": "",
    }
    return subprocess.run(
        ["bash", "-c", commands], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def comparable(text: str) -> list[str]:
    """Leave out what differs from run to run: the first line with its commit, and how long things took."""
    timeless = re.sub(r" +\(?(\d+\.\d s|cached)\b(, \d+ cached)?\)?", "", text.strip())
    return timeless.splitlines()[1:]


def test_the_check_passes_and_prints_what_the_readme_shows(copy: Path, cache: Path) -> None:
    result = follow(CHECK, copy, cache)
    assert (result.returncode, result.stderr) == (0, "")
    assert comparable(result.stdout) == comparable(GREEN)


def test_every_bound_is_turned_red_by_a_control(copy: Path, cache: Path) -> None:
    result = follow(f"{SELF_TEST.strip()} --format json", copy, cache)
    assert (result.returncode, result.stderr) == (0, "")
    verdicts = [verdict for guard in json.loads(result.stdout)["guards"] for verdict in guard["verdicts"]]
    assert {verdict["code"] for verdict in verdicts} == {"control-turned-red"}
    assert len(verdicts) == 13


def test_without_its_bound_the_gate_fails_as_the_readme_shows(copy: Path, cache: Path) -> None:
    result = follow(BREAK, copy, cache)
    assert (result.returncode, result.stderr) == (1, "")
    assert comparable(result.stdout) == comparable(RED)


def test_only_what_depends_on_the_gate_is_measured_again(copy: Path, cache: Path) -> None:
    follow(CHECK, copy, cache)
    follow(BREAK, copy, cache)
    result = follow(f"{CHECK.strip()} --format json", copy, cache)
    cached = {guard["subject"]: guard["cached"] for guard in json.loads(result.stdout)["guards"]}
    assert cached == {
        "rms_norm.manifest:FAMILY.row_length": True,
        "rms_norm.manifest:FAMILY.normalize": False,
        "rms_norm.manifest:FAMILY.one_pass": True,
        "rms_norm.manifest:FAMILY.looped": True,
    }
