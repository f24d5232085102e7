"""The example of a moved floor: its README is followed word by word."""

import re
import runpy
from collections import Counter
from pathlib import Path

import pytest
import yaml

from helpers.moved_floor import EXAMPLE, Story, tell

pytestmark = pytest.mark.slow

README = (EXAMPLE / "README.md").read_text()
SHOWN = re.findall(r"^```sh exit=\d\n.*?^```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
NUMBERS = re.compile(r"\b[0-9a-f]{12}\b|-?\d[\d.e-]*|\bcached\b")
REASON = "the tall rows are computed again"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return tell(tmp_path_factory.mktemp("story"))


def words(text: str) -> str:
    """Leave numbers and the length of rules and columns out."""
    return " ".join(NUMBERS.sub("#", text.replace("─", "")).replace("# s", "#").split())


def anchored(text: str) -> dict[str, object]:
    (guard,) = [guard for guard in yaml.safe_load(text)["guards"] if guard["id"] == "pace"]
    bound: dict[str, object] = guard["require"]["tokens_per_megabyte"]
    return bound


def test_the_story_of_7b_asks_for_the_other_guards_in_every_command() -> None:
    run = runpy.run_path(str(EXAMPLE / "run.py"))
    commands = "\n".join(block.commands for block in run["_blocks"](README, run["_ON_7B"]))
    assert "--predict -1.8%" in commands
    asked = re.findall(r"guardrail (\w+)(?: pace-7b)? --guards guards-7b.yaml", commands)
    assert Counter(asked) == {"reanchor": 6, "check": 3, "history": 1}
    assert commands.count("guardrail ") == len(asked)


def test_every_command_ends_as_the_readme_says(story: Story) -> None:
    assert [block["code"] for block in story.blocks] == [0, 1, 1, 1, 1, 1, 1, 0, 0], story.printed
    assert story.returncode == 0


def test_the_commands_print_what_the_readme_shows(story: Story) -> None:
    assert len(SHOWN) == len(story.blocks)
    for shown, block in zip(SHOWN, story.blocks, strict=True):
        output = words(block["output"])
        for part in shown.split("…"):
            assert words(part) in output


def test_the_correctness_guards_turn_red_on_the_wrong_decoder_and_green_on_the_fixed_one(
    story: Story,
) -> None:
    red, green = story.blocks[1]["output"], story.blocks[3]["output"]
    assert "8 of 72 32-element units dropped when executed (11.1%), models" in red
    assert "3 guards: 1 pass, 2 fail" in red
    assert "3 guards: 2 pass, 1 fail" in green


def test_the_floor_moves_by_what_the_bytes_of_the_dropped_block_predict(story: Story) -> None:
    new = story.git("show", "HEAD:guards.yaml")
    bound = anchored(new)
    old = bound["history"][0]
    dropped_bytes = 256 * 210 + 8 * 34
    read_bytes = 1e6 / bound["anchor"]["value"]
    assert 1e6 / old["value"] == pytest.approx(read_bytes - dropped_bytes, rel=1e-5)
    assert story.change() == pytest.approx(-100 * dropped_bytes / read_bytes, abs=0.01)
    assert (old["class"], old["reason"]) == ("measurement", "first anchor")
    assert (bound["anchor"]["class"], bound["anchor"]["reason"]) == ("correctness-fix", REASON)
    assert story.git("rev-parse", "HEAD~1").startswith(bound["anchor"]["commit"])
    assert old["incomparable_before"] == bound["anchor"]["commit"]


def test_nothing_but_the_anchor_s_lines_changes_and_no_refusal_writes(story: Story) -> None:
    def without_anchors(revision: str) -> list[str]:
        lines = story.git("show", f"{revision}:guards.yaml").splitlines()
        return [line for line in lines if "value:" not in line and line.strip() != "history:"]

    assert without_anchors("HEAD") == without_anchors("HEAD~1")
    changed = story.git("show", "--format=", "--name-only", "HEAD").split()
    (evidence,) = [name for name in changed if name.startswith("evidence/")]
    assert changed == [evidence, "guards.yaml", "ledger.yaml"]
    assert story.git("show", "--format=", "--name-only", "HEAD~1").split() == ["decoder/gate.py"]
    assert len(story.git("log", "--format=%h").split()) == 5
    assert story.git("status", "--porcelain") == ""


def test_the_ledger_has_a_row_for_each_anchor(story: Story) -> None:
    rows = yaml.safe_load(Path(story.folder, "ledger.yaml").read_text())["rows"]
    assert [row["lesson"] for row in rows] == ["first anchor", REASON]
