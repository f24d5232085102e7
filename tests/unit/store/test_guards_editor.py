import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import pytest

from guardrail.errors import UsageError
from guardrail.store.guards_editor import Move, edited, move_anchors
from helpers.anchors import HASH, STATED

TESTS = Path(__file__).parents[2]
OLD = "sha256:" + "0" * 64
NEW = (
    '{value: 700.0, class: correctness-fix, reason: "the tall rows are computed again", '
    f'commit: "0123abc", date: 2026-12-03, evidence: "{HASH}"}}'
)
FILE = dedent("""\
    version: 1
    guards:
      - id: first
        require:
          # the pace
          rate: {slack: 2%}   # of decoding
      - id: second
        require:
          rate:
            slack: '2%'
""")


def move(guard="first", profile=None, past=None, superseded=None, slack=None, **changes):
    return Move(guard, "rate", profile, STATED | changes, past, superseded, slack)


def changed_lines(before: str, after: str) -> list[str]:
    old = before.splitlines()
    return [line for line in after.splitlines() if line not in old]


def test_a_first_anchor_goes_into_the_braces_of_its_bound():
    after = edited(FILE, "guards.yaml", move())
    assert changed_lines(FILE, after) == [f"      rate: {{slack: 2%, anchor: {NEW}}}   # of decoding"]


def test_a_first_anchor_of_a_block_goes_below_its_slack():
    after = edited(FILE, "guards.yaml", move("second", profile="h200"))
    assert after == FILE + f"        anchor:\n          h200: {NEW}\n"


def test_a_moved_anchor_leaves_the_old_one_in_the_history():
    anchored = edited(FILE, "guards.yaml", move("second", profile="h200", evidence=OLD))
    after = edited(
        anchored, "guards.yaml", move("second", "h200", {"profile": "h200", "value": 719}, OLD, slack="3%")
    )
    assert changed_lines(anchored, after) == [
        "        slack: '3%'",
        f"          h200: {NEW}",
        "        history:",
        "          - {profile: h200, value: 719}",
    ]


def test_another_profile_leaves_the_first_alone():
    anchored = edited(FILE, "guards.yaml", move("second", profile="h200", evidence=OLD))
    after = edited(anchored, "guards.yaml", move("second", profile="gb10"))
    assert after == anchored + f"          gb10: {NEW}\n"


def test_a_file_without_a_last_line_break_is_left_without_one():
    after = edited(FILE.rstrip("\n"), "guards.yaml", move("second"))
    assert after == FILE + f"        anchor: {NEW}"


@pytest.mark.parametrize(
    ("bound", "line"),
    [
        ("&pace {slack: 2%}\n      time: *pace", 6),
        ("{slack: &slack 2%}\n      time: {slack: *slack}", None),
    ],
)
def test_a_bound_that_is_shared_is_refused_with_its_line(bound, line):
    text = FILE.replace("{slack: 2%}   # of decoding", bound)
    if line is None:
        assert "anchor" in edited(text, "guards.yaml", move())
        return
    with pytest.raises(UsageError) as caught:
        edited(text, "guards.yaml", move())
    assert str(caught.value) == (
        f"guards.yaml:{line}: this part cannot be edited without rewriting more of it: it is shared with "
        "other parts of the file ('&name' or '*name'); write the bound on one line, as "
        "'METRIC: {slack: 2%}' with its anchor and history inside the braces"
    )


def test_a_slack_that_is_an_alias_is_not_replaced():
    text = FILE.replace("{slack: 2%}", "{slack: &slack 2%}").replace("'2%'", "*slack")
    for guard, line in (("first", 6), ("second", 10)):
        with pytest.raises(UsageError, match=rf"guards\.yaml:{line}: .* it is shared with other"):
            edited(text, "guards.yaml", move(guard, slack="3%"))


def test_a_comment_beside_what_must_go_is_refused_with_its_line():
    stated = NEW.replace("}", ", # why\n        ref: x}").replace(HASH, OLD)
    text = FILE.replace("{slack: 2%}   # of decoding", f"{{slack: 2%, anchor: {stated}}}")
    with pytest.raises(UsageError, match=r"guards\.yaml:7: .* a comment stands beside 'ref'"):
        edited(text, "guards.yaml", move(superseded=OLD))


def test_a_comment_behind_a_line_that_goes_stays():
    lines = "".join(f"          {key}: {value!r}\n" for key, value in (STATED | {"evidence": OLD}).items())
    text = FILE + "        anchor:\n" + lines + "          ref: '#5'  # look there\n"
    after = edited(text, "guards.yaml", move("second", superseded=OLD))
    assert after.endswith(f'          evidence: "{HASH}"\n          # look there\n')


def test_an_anchor_that_moved_meanwhile_is_not_lost():
    anchored = edited(FILE, "guards.yaml", move(evidence=OLD))
    with pytest.raises(UsageError, match=r"guards\.yaml:6: the anchor of rate was moved while"):
        edited(anchored, "guards.yaml", move())


def test_a_guard_that_is_gone_is_named():
    with pytest.raises(UsageError, match="the bound of rate in guard third is no longer there"):
        edited(FILE, "guards.yaml", move("third"))


def test_a_dry_run_writes_nothing(tmp_path):
    path = tmp_path / "guards.yaml"
    path.write_text(FILE)
    before, after = move_anchors(path, [move()], write=False)
    assert (before, path.read_text()) == (FILE, FILE)
    assert "anchor" in after


def test_all_moves_are_made_or_none(tmp_path):
    path = tmp_path / "guards.yaml"
    path.write_text(FILE)
    with pytest.raises(UsageError, match="third"):
        move_anchors(path, [move(), move("third")])
    assert path.read_text() == FILE
    move_anchors(path, [move(), move("second")])
    assert path.read_text().count(NEW) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["guards.yaml"]


def test_mode_and_link_of_the_file_stay(tmp_path):
    real = tmp_path / "real.yaml"
    real.write_text(FILE)
    real.chmod(0o640)
    link = tmp_path / "guards.yaml"
    link.symlink_to(real)
    move_anchors(link, [move()])
    assert link.is_symlink()
    assert NEW in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_file_that_cannot_be_written_is_said_so(tmp_path):
    with pytest.raises(UsageError, match="cannot move anchors: No such file or directory"):
        move_anchors(tmp_path / "guards.yaml", [move()])


def test_two_writers_at_once_lose_no_update(tmp_path):
    names = [f"guard-{number}" for number in range(40)]
    path = tmp_path / "guards.yaml"
    path.write_text(
        "version: 1\nguards:\n"
        + "".join(f"  - id: {name}\n    require: {{rate: {{slack: 2%}}}}\n" for name in names)
    )
    program = (
        "import sys; from pathlib import Path; from guardrail.store.guards_editor import *\n"
        f"for name in sys.argv[2:]: move_anchors(Path(sys.argv[1]), [Move(name, 'rate', None, {STATED!r})])"
    )

    def write(half):
        return subprocess.run([sys.executable, "-c", program, path, *half], timeout=60, check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, (names[::2], names[1::2])))
    assert path.read_text().count(NEW) == 40


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "guards.yaml"
    stated = STATED | {"value": 0, "evidence": "sha256:" + "0" * 64}
    start = Move("pace", "rate", None, stated)
    text = (
        "version: 1\nguards:\n  - id: pace\n    require:\n      rate: {slack: 2%, history: []}  # the end\n"
    )
    path.write_text(edited(text, "guards.yaml", start))
    ran = subprocess.run(
        [sys.executable, "-m", "helpers.killed_writers", path, "500", "1"],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    kills, moves = map(int, ran.stdout.split())
    assert kills == 500
    assert moves > 50
