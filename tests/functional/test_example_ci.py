"""The example of a GitHub workflow: its shape, and its guardrail commands run as they stand."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
# BaseLoader: YAML 1.1 would read the key "on" as true.
WORKFLOW = yaml.load((EXAMPLES / "ci" / "guardrail.yml").read_text(), Loader=yaml.BaseLoader)
MEASURE, JUDGE = WORKFLOW["jobs"]["measure"], WORKFLOW["jobs"]["judge"]


def command(job: dict[str, Any], name: str) -> str:
    (step,) = [step for step in job["steps"] if step.get("name") == name]
    return step["run"]


def measuring_here() -> str:
    """Give the measuring step without its demand for a GPU."""
    demanding = command(MEASURE, "Measure")
    assert '--require-profile "$PROFILE" ' in demanding
    return demanding.replace('--require-profile "$PROFILE" ', "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository with a guards file."""
    repository = tmp_path_factory.mktemp("repository")
    shutil.copytree(EXAMPLES / "custom_family", repository, dirs_exist_ok=True)
    return repository


def run(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does, on a machine whose GPUs are hidden."""
    environment = os.environ | WORKFLOW["env"]
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment["GUARDRAIL_CACHE_DIR"] = str(folder / "cache")
    environment["GITHUB_STEP_SUMMARY"] = str(folder / "summary.md")
    environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_judging_job_waits_for_the_measuring_one() -> None:
    assert list(WORKFLOW["jobs"]) == ["measure", "judge"]
    assert "needs" not in MEASURE
    assert JUDGE["needs"] == "measure"
    assert "self-hosted" in MEASURE["runs-on"]
    assert JUDGE["runs-on"] == "ubuntu-24.04"


def test_the_token_may_read_the_contents_and_nothing_else() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in (MEASURE, JUDGE))


def test_every_action_has_its_major_version_pinned() -> None:
    used = [step["uses"] for job in (MEASURE, JUDGE) for step in job["steps"] if "uses" in step]
    assert len(used) == 7
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


def test_the_artifact_is_the_report_that_is_judged() -> None:
    names = [
        (step["uses"].partition("@")[0], step["with"]["name"])
        for job in (MEASURE, JUDGE)
        for step in job["steps"]
        if "artifact" in step.get("uses", "")
    ]
    assert names == [
        ("actions/upload-artifact", "gpu-run"),
        ("actions/download-artifact", "gpu-run"),
        ("actions/upload-artifact", "junit"),
    ]


def test_a_runner_without_the_gpu_stops_the_measuring_job(folder: Path) -> None:
    result = run(command(MEASURE, "Measure"), folder)
    assert result.returncode == 1
    report = json.loads((folder / "gpu-run.json").read_text())
    assert (report["exit_code"], report["absent_profiles"]) == (3, ["h200"])


def test_a_bound_that_fails_is_left_to_the_judging_job(folder: Path) -> None:
    guards = folder / "guards.yaml"
    text = guards.read_text()
    guards.write_text(text.replace("relative_error: {ceiling: 1.0e-6}", "relative_error: {ceiling: 1.0e-9}"))
    measured = run(measuring_here(), folder)
    judged = run(command(JUDGE, "Judge what the GPU measured"), folder)
    guards.write_text(text)
    assert measured.returncode == 0
    assert judged.returncode == 1
    (first, *_) = judged.stdout.splitlines()
    assert first.startswith(
        "::error file=guards.yaml,line=24,title=rms-norm-numerics::relative_error (one_pass) is "
    )


def test_the_judging_job_passes_what_holds_and_writes_junit_and_a_summary(folder: Path) -> None:
    run(measuring_here(), folder)
    (folder / "summary.md").unlink(missing_ok=True)
    for name, junit in (
        ("Judge what the GPU measured", "gpu-junit.xml"),
        ("Check what needs no GPU", "junit.xml"),
    ):
        result = run(command(JUDGE, name), folder)
        assert (result.returncode, result.stdout) == (0, "")
        assert 'tests="4" failures="0" errors="0"' in (folder / junit).read_text()
    assert (folder / "summary.md").read_text().count("## guardrail") == 2
