"""A floor set on a wrong engine is moved by its fix, with a reason and evidence, and in no other way."""

import json
import subprocess
from pathlib import Path

import pytest

from helpers.folders import install

PACE = """\
version: 1
guards:
  # the pace of decoding
  - id: decode
    title: decoding keeps its pace
    probe: speed
    subject: engine.txt
    device: h200
    require:
      rate:
        slack: 2%   # of the anchor
"""
GATE = """\
  - id: gate
    title: the tile gets what it covers
    probe: dispatch
    subject: tiny.manifest:FAMILY.pick
    require:
      dropped_units: {equals: 0}
"""
WRONG = ('"TINY_REACH", TILE', '"TINY_REACH", 12')
REASON = "the tall rows are computed again"
FIX = ("reanchor", "decode", "--class", "correctness-fix", "--reason", REASON)
FIRST = ("reanchor", "decode", "--class", "measurement", "--reason", "first anchor")


@pytest.fixture
def git(folder: Path):
    """Run git in the folder of the cases, which is a checkout of its own with a wrong engine."""
    install(folder, "speed", "guardrail.probes", {"speed": "speed_probe:SpeedProbe"})
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")

    def run(*arguments: str) -> str:
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    (folder / "guards.yaml").write_text(PACE)
    (folder / "engine.txt").write_text("718 719 720")
    (folder / ".gitignore").write_text("__pycache__/\n*.json\n!evidence/*.json\n.*cache*\n.triton\n")
    replace(folder / "tiny" / "gate.py", *WRONG)
    run("init", "-q")
    run("add", "-A")
    run("commit", "-qm", "a wrong engine")
    return run


@pytest.fixture
def anchored(git, folder, guardrail):
    """The wrong engine's floor, committed, and then a guard that sees what is wrong."""
    made = guardrail(*FIRST)
    assert made.returncode == 0, made.stderr
    (folder / "guards.yaml").write_text((folder / "guards.yaml").read_text() + GATE)
    git("add", "-A")
    git("commit", "-qm", "anchored")
    return made


@pytest.fixture
def fixed(anchored, git, folder, guardrail):
    """The fix, after a run that saw the gate red."""
    guardrail("check", "--only", "gate", "--format", "json", "--output", "red.json")
    replace(folder / "tiny" / "gate.py", *WRONG[::-1])
    (folder / "engine.txt").write_text("699 700 701")
    git("commit", "-qam", "the fix")


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_a_first_anchor_is_written_with_its_evidence_and_its_diff(anchored, folder):
    assert "first anchor 719 tokens/s" in anchored.stdout
    assert "floor 704.62 tokens/s = anchor with a slack of 2%; 3 windows, 0.00% apart" in anchored.stdout
    added = [line for line in anchored.stdout.splitlines() if line.startswith(("+ ", "- "))]
    assert len(added) == 2
    assert added[0] == "+        anchor:"
    assert added[1].startswith("+          h200: {value: 719.0, class: measurement, reason: ")
    text = (folder / "guards.yaml").read_text()
    (evidence,) = (folder / "evidence").iterdir()
    assert f'"sha256:{evidence.stem}"' in text
    assert [window["value"] for window in json.loads(evidence.read_text())["windows"]] == [719.0] * 3
    unchanged = [line for line in text.splitlines(keepends=True) if "h200: {" not in line]
    assert "".join(unchanged).replace("        anchor:\n", "") == PACE + GATE


def test_without_an_anchor_nothing_passes(git, guardrail):
    found = guardrail("check")
    assert found.returncode == 3
    assert "is not anchored, so no bound is derived; measure one with 'guardrail reanchor'" in found.stdout


def test_a_wrong_engine_cannot_be_anchored_to(anchored, guardrail):
    found = guardrail(*FIRST)
    assert found.returncode == 1
    assert found.stderr.startswith(
        "guardrail: no anchor is moved:\n  - gate (dispatch) is fail: dropped_units"
    )


def test_the_fix_moves_the_floor_with_its_reason(fixed, folder, guardrail):
    before = guardrail("check")
    assert before.returncode == 1
    assert "rate (h200) is 700 tokens/s, must be at least 704.62 (anchor 719)" in before.stdout

    old = (folder / "guards.yaml").read_text()
    moved = guardrail(*FIX, "--was-red", "red.json", "--predict", "-2.7%", "--against", "HEAD~1")
    assert moved.returncode == 0, moved.stderr
    assert "anchor 719 -> 700 tokens/s (-2.64%)" in moved.stdout
    assert "against the old build, side by side: -2.64% (-2.64% to -2.64%)" in moved.stdout
    new = (folder / "guards.yaml").read_text()
    kept = [line for line in new.splitlines() if "value:" not in line and "history:" not in line]
    assert kept == [line for line in old.splitlines() if "value:" not in line]

    after = guardrail("check")
    assert after.returncode == 0, after.stdout
    history = guardrail("history", "decode").stdout.splitlines()
    assert [line.split()[2:4] for line in history[1:]] == [
        ["719.0", history[1].split()[3]],
        ["700.0", "-2.64%"],
    ]
    assert REASON in history[2]
    assert "incomparable before" in history[1]
    ledger = (folder / "ledger.yaml").read_text()
    assert "from 719.0 to 700.0 tokens/s, class correctness-fix" in ledger.replace("\n      ", " ")


REFUSALS = (
    (FIX, "class correctness-fix needs a dispatch or logits guard that was red before and is green now"),
    (
        ("reanchor", "decode", "--class", "optimisation", "--reason", "faster"),
        "decode: rate (h200): 700.0 is worse than the anchor of 719.0",
    ),
    (
        (*FIX, "--was-red", "red.json", "--predict", "-9%"),
        "-9% was predicted, but the windows measured -2.64% to -2.64%",
    ),
    ((*FIX[:-1], " ", "--ref", "#5"), "--reason is empty"),
)


def test_a_refusal_says_what_would_be_acceptable_and_writes_nothing(fixed, git, guardrail):
    for arguments, said in REFUSALS:
        found = guardrail(*arguments)
        assert (found.returncode, said in found.stderr) == (1, True), found.stderr
    assert git("status", "--porcelain") == ""


def test_ci_and_a_dirty_tree_move_nothing(fixed, folder, guardrail):
    found = guardrail(*FIX, "--ref", "#5", CI="true")
    assert (found.returncode, "anchors are not moved in CI" in found.stderr) == (1, True)
    (folder / "engine.txt").write_text("900")
    found = guardrail(*FIX, "--ref", "#5")
    assert (found.returncode, "the tree is dirty; commit or stash the changes" in found.stderr) == (1, True)


def test_the_same_code_is_neither_fixed_nor_faster(fixed, git, guardrail):
    assert guardrail(*FIX, "--ref", "#5").returncode == 0
    git("add", "-A")
    git("commit", "-qm", "moved")
    found = guardrail(*FIX, "--ref", "#5")
    assert found.returncode == 1
    assert "the subject is byte for byte the one that the old number was measured on" in found.stderr


def test_a_dry_run_prints_the_change_and_writes_nothing(fixed, git, guardrail):
    found = guardrail(*FIX, "--ref", "#5", "--dry-run", "--slack", "3%")
    assert found.returncode == 0
    assert "+          h200: {value: 700.0" in found.stdout
    assert "THE SLACK IS SET TO 3%" in found.stdout
    assert "+        slack: 3%   # of the anchor" in found.stdout
    assert git("status", "--porcelain") == ""


def test_saved_runs_stand_for_windows(fixed, folder, guardrail):
    names = [f"run{number}.json" for number in range(3)]
    for name in names:
        guardrail("check", "--fresh", "--only", "decode", "--format", "json", "--output", name)
    given = [argument for name in names for argument in ("--from", name)]
    few = guardrail(*FIX, "--ref", "#5", *given[:4])
    assert (few.returncode, "has 2 of at least 3 windows, and one run is no evidence" in few.stderr) == (
        1,
        True,
    )
    twice = guardrail(*FIX, "--ref", "#5", *given[:4], *given[:2])
    assert (twice.returncode, "two of these files are the same run" in twice.stderr) == (2, True)
    moved = guardrail(*FIX, "--ref", "#5", *given)
    assert moved.returncode == 0, moved.stderr
    assert "anchor 719 -> 700 tokens/s (-2.64%)" in moved.stdout


def test_saved_runs_of_another_tree_are_refused(anchored, folder, git, guardrail):
    for number in range(3):
        guardrail("check", "--fresh", "--only", "decode", "--format", "json", "--output", f"run{number}.json")
    replace(folder / "tiny" / "gate.py", *WRONG[::-1])
    (folder / "engine.txt").write_text("700")
    git("commit", "-qam", "the fix")
    given = [argument for number in range(3) for argument in ("--from", f"run{number}.json")]
    found = guardrail(*FIX, "--ref", "#5", *given)
    assert found.returncode == 1
    assert "decode, run0.json measured other sources than this tree's; measure this tree" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--slack", "3"), "--slack 3: expected a percentage below 100, such as 2%"),
        (
            ("--predict", "less"),
            "--predict less: expected the change of the metric in percent, such as -2.7%",
        ),
        (("--profile", "h2000"), "--profile h2000: no architecture, device or model profile has this name"),
        (("--metric", "time"), "--metric time: decode does not bound it; it bounds rate"),
        (("--against", "no-such"), "--against no-such: expected a git revision of"),
        (("--from", "gone.json"), "gone.json: there is no such file"),
        (("--ref", "two\nlines"), "--ref: the text must be one line without control characters"),
        (("decode",), "decode is given twice"),
        (("speed",), "guards.yaml has no guard 'speed'; known: decode"),
        (("dec*",), "'dec*' is the id of no guard"),
    ],
)
def test_what_is_mistaken_on_the_command_line_is_said(git, guardrail, arguments, said):
    found = guardrail(*FIRST, *arguments)
    assert (found.returncode, said in found.stderr) == (2, True), found.stderr
    assert git("status", "--porcelain") == ""


def test_lost_evidence_is_answered_by_removing_its_anchor_and_measuring_anew(git, folder, guardrail):
    assert guardrail(*FIRST).returncode == 0
    git("add", "-A")
    git("commit", "-qm", "anchored")
    git("rm", "-q", "-r", "evidence")
    git("commit", "-qm", "lost")
    for command in (("check",), FIRST):
        found = guardrail(*command)
        assert found.returncode == 2
        assert "remove the anchor from the guards file, and measure it anew with 'guardrail reanchor'" in (
            found.stderr
        )
    (folder / "guards.yaml").write_text(PACE)
    git("commit", "-qam", "removed")
    anew = guardrail(*FIRST)
    assert anew.returncode == 0, anew.stderr
    assert "first anchor 719 tokens/s" in anew.stdout
    assert guardrail("check").returncode == 0


LOGGED = """\
  - id: logged
    title: the command keeps its pace
    probe: command
    subject: engine.txt
    command: [touch, measured.log, "{subject}"]
    metrics:
      pace: {path: pace, unit: tokens/s}
    require:
      pace: {slack: 2%}
"""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ("--profile", "h200"),
            3,
            "--profile h200: this machine is not it (it has no GPU), so logged cannot be measured for it",
        ),
        (("--metric", "time"), 2, "--metric time: logged does not bound it; it bounds pace"),
    ],
)
def test_what_cannot_be_anchored_here_is_refused_before_it_is_measured(
    git, folder, guardrail, monkeypatch, arguments, code, said
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (folder / "guards.yaml").write_text(PACE + LOGGED)
    git("commit", "-qam", "a command")
    found = guardrail("reanchor", "logged", *FIRST[2:], *arguments)
    assert (found.returncode, said in found.stderr) == (code, True), found.stderr
    assert not (folder / "measured.log").exists()


def test_a_profile_that_nothing_was_measured_for_is_said_beside_those_that_it_was(git, guardrail):
    found = guardrail(*FIRST, "--profile", "gb10")
    assert found.returncode == 1
    assert found.stderr == (
        "guardrail: no anchor is moved:\n  - decode: nothing that is asked for was measured: --profile gb10 "
        "is none of its places (h200)\n"
    )


SPEED = """\
  - id: product
    title: the output matrix streams at the card's rate
    probe: timing
    subject: q6k.served_matvec
    devices: [h200]
    cases: [lm-head-14b]
    require:
      dram_read_fraction: {slack: 2%}
"""


def test_a_guard_of_another_machine_says_why_it_has_no_windows(git, folder, guardrail, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (folder / "guards.yaml").write_text(PACE + SPEED)
    git("commit", "-qam", "a floor of another machine")
    found = guardrail("reanchor", "product", *FIRST[2:])
    assert found.returncode == 1
    assert "product: nothing that is asked for was measured: there is no GPU to time on" in found.stderr
