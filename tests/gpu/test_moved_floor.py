"""The story of the moved floor in tokens a second, on 7B's geometry."""

import shutil
from pathlib import Path

import pytest

from guardrail.adapters.device import executing_gpu
from helpers.moved_floor import tell

pytestmark = [pytest.mark.gpu, pytest.mark.alone]


@pytest.mark.timeout(600)
def test_the_floor_of_the_wrong_engine_is_moved_by_its_fix(tmp_path: Path) -> None:
    gpu = executing_gpu()
    if gpu is None or "H200" not in gpu.name:
        pytest.skip("the floor of guards-7b.yaml is for an H200")
    if shutil.which("git") is None:
        pytest.skip("there is no git, and the story is that of a repository")
    story = tell(tmp_path, "--model", "qwen2.5-7b")
    assert [block["code"] for block in story.blocks] == [0, 1, 1, 1, 1, 1, 1, 0, 0], story.printed
    assert story.returncode == 0
    assert -3.0 < story.change() < -1.6
    assert "80 of 592 32-element units dropped when executed (13.5%), models" in story.blocks[1]["output"]
