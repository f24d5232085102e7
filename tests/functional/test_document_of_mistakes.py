"""The table of mistakes names only what exists, and says of itself what it holds."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "mistakes.md"
TEXT = DOCUMENT.read_text()
STATES = ("seen", "by rule", "in part")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


ROWS = [cells(line) for line in TEXT.splitlines() if re.match(r"\| \d+ \| ", line)]
SEE = [row[-1] for row in ROWS]
LINKS = [link for see in SEE for link in re.findall(r"\[([^\]]+)\]\(([^)#]+)[^)]*\)", see)]
CODE = [code for see in SEE for code in re.findall(r"`([^`]+)`", see)]


def guard_ids() -> set[str]:
    files = (ROOT / "guards.yaml", ROOT / "examples" / "vllm" / "guards.yaml")
    return {guard["id"] for path in files for guard in yaml.safe_load(path.read_text())["guards"]}


def test_every_mistake_has_a_row_with_a_state_and_something_to_see():
    assert [int(row[0]) for row in ROWS] == list(range(1, 55))
    assert {len(row) for row in ROWS} == {5}
    assert {row[3] for row in ROWS} == set(STATES)
    assert [row for row in ROWS if not row[4]] == []


def test_the_summary_counts_the_rows():
    counts = Counter(row[3] for row in ROWS)
    seen, rule, part = (counts[state] for state in STATES)
    assert f"{seen} were seen to be caught, {rule} are by rule, and {part} in part." in TEXT


def test_every_guard_and_command_that_is_named_exists():
    commands = [code.split() for code in CODE if code.startswith("guardrail ")]
    assert [code for code in CODE if not code.startswith("guardrail ") and code not in guard_ids()] == []
    for command in {words[1] for words in commands}:
        subprocess.run(
            [sys.executable, "-m", "guardrail", command, "--help"], capture_output=True, check=True
        )
    named = [word for words in commands for word in words if "/" in word]
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_test_that_is_named_is_in_its_file():
    tests = [(name, DOCUMENT.parent / path) for name, path in LINKS if path.endswith(".py")]
    assert len(tests) > 20
    missing = [name for name, path in tests if f"def test_{name.replace(' ', '_')}(" not in path.read_text()]
    assert missing == []


@pytest.mark.parametrize("word", sorted({word for row in ROWS for word in re.findall(r"`(\w+)`", row[2])}))
def test_every_key_metric_and_probe_that_is_named_is_in_another_document(word: str):
    others = [path.read_text() for path in (ROOT / "docs").glob("*.md") if path != DOCUMENT]
    assert any(re.search(rf"\b{word}\b", text) for text in others)
