"""What a guard's bounds are, where they come from, and what they were before."""

import json

import pytest

from guardrail.records.evidence import Evidence
from guardrail.store.evidence import write_evidence
from helpers.anchors import STATED, evidence
from helpers.folders import install

FIXED = STATED | {"ref": "#5", "date": "2026-09-09"}
PAST = {
    "profile": "h200",
    **{key: value for key, value in STATED.items() if key != "date"},
    "value": 719.0,
    "class": "measurement",
    "reason": "set on a wrong engine",
    "valid_from": "2026-09-08",
    "valid_until": "2026-09-09",
    "incomparable_before": "b31084c",
}


def measured(stated: dict, **changes: object) -> Evidence:
    value = stated["value"]
    (first, *_) = evidence().windows
    windows = tuple(type(first)(each, first.provenance) for each in (value - 1, value, value + 1))
    return evidence(
        value=value,
        anchor_class=stated["class"],
        reason=stated["reason"],
        windows=windows,
        ref=stated.get("ref"),
        **changes,
    )


@pytest.fixture
def guards(folder):
    """A guard with an anchor and a superseded one, each with its evidence."""
    install(folder, "speed", "guardrail.probes", {"speed": "speed_probe:SpeedProbe"})
    (folder / "engine.txt").write_text("700")
    now = FIXED | {"evidence": write_evidence(folder, measured(FIXED, date="2026-09-09"))}
    past = PAST | {"evidence": write_evidence(folder, measured(PAST, date="2026-09-08"))}
    bound = {"slack": "2%", "anchor": {"h200": now}, "history": [past]}
    guard = {
        "id": "decode",
        "title": "decoding keeps its pace",
        "probe": "speed",
        "subject": "engine.txt",
        "device": "h200",
        "require": {"rate": bound},
    }
    written = guard | {
        "id": "written",
        "require": {"rate": {"floor": {"h200": 5, "gb10": 3}, "ceiling": 900}},
    }
    bare = guard | {"id": "bare", "require": {"rate": {"slack": "5%", "side": "ceiling"}}}
    path = folder / "anchored.yaml"
    lines = "".join(f"- {json.dumps(each)}\n" for each in (guard, written, bare))
    path.write_text(f"version: 1\nguards:\n{lines}")
    return path


def lines_of(text: str) -> list[str]:
    """Read a table's lines with single spaces."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_derived_bound_is_shown_with_its_anchor(guards, guardrail):
    found = guardrail("show", "decode", "--guards", "anchored.yaml")
    assert found.returncode == 0, found.stderr
    lines = lines_of(found.stdout)
    assert lines[0] == "decode anchored.yaml:3"
    assert "rate h200 at least 686 anchor 700.0 - slack 2% (anchored.yaml:3)" in lines
    assert "correctness-fix: the tall rows are computed again (#5)" in lines
    assert any(line.startswith("commit 0123abc, 2026-09-09 (") for line in lines)


def test_written_bounds_are_shown_as_such(guards, guardrail):
    lines = lines_of(guardrail("show", "written", "--guards", "anchored.yaml").stdout)
    assert "rate h200 at least 5 written (anchored.yaml:4)" in lines
    assert "rate gb10 at least 3 written (anchored.yaml:4)" in lines
    assert "rate at most 900 written (anchored.yaml:4)" in lines


def test_a_bound_without_an_anchor_says_how_to_get_one(guards, guardrail):
    found = guardrail("show", "bare", "--guards", "anchored.yaml").stdout
    assert "not anchored; run 'guardrail reanchor bare --class measurement --reason ...'" in found


def test_history_lists_every_anchor_with_its_change_and_reason(guards, guardrail):
    found = guardrail("history", "decode", "--guards", "anchored.yaml")
    assert lines_of(found.stdout) == [
        "metric profile anchor change from until class commit reason",
        "rate h200 719.0 2026-09-08 2026-09-09 measurement 0123abc "
        "set on a wrong engine; incomparable before b31084c",
        "rate h200 700.0 -2.64% 2026-09-09 now correctness-fix 0123abc the tall rows are computed again (#5)",
    ]


def test_a_guard_without_anchors_has_no_history(guards, guardrail):
    found = guardrail("history", "written", "--guards", "anchored.yaml")
    assert found.stdout == "written has no anchors: the bound of rate is written\n"
    found = guardrail("history", "bare", "--guards", "anchored.yaml")
    assert found.stdout == (
        "bare has no anchors: the bound of rate is not anchored; run 'guardrail reanchor bare --class "
        "measurement --reason ...'\n"
    )


def test_a_history_is_drawn(guards, folder, guardrail):
    from lxml import etree

    assert guardrail("history", "decode", "--guards", "anchored.yaml", "--plot", "pace.svg").returncode == 0
    tree = etree.parse(folder / "pace.svg")
    texts = ["".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert "719.0 measurement" in texts
    assert "700.0 -2.64% correctness-fix" in texts
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}circle"))) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "decod"), "anchored.yaml has no guard 'decod'; did you mean 'decode'?"),
        (
            ("history", "decode", "--plot", "x.png"),
            "--plot x.png: pictures are written as .svg; name the file so",
        ),
        (("history", "written", "--plot", "x.svg"), "--plot x.svg: written has no anchors to show"),
    ],
)
def test_a_mistake_is_said_in_a_sentence(guards, guardrail, arguments, said):
    found = guardrail(*arguments, "--guards", "anchored.yaml")
    assert (found.returncode, found.stderr) == (2, f"guardrail: {said}\n")


def test_an_anchor_moved_by_hand_stops_every_command_with_its_line(guards, guardrail):
    guards.write_text(guards.read_text().replace('"value": 700.0', '"value": 600.0'))
    for command in (("check",), ("show", "decode"), ("history", "decode")):
        found = guardrail(*command, "--guards", "anchored.yaml")
        assert found.returncode == 2
        assert found.stderr == (
            "guardrail: anchored.yaml:3: anchor of rate: its value is 600.0, but its evidence says 700.0, "
            "and an anchor is never moved by hand; restore it from git; where that cannot be, remove the "
            "anchor from the guards file, and measure it anew with 'guardrail reanchor'\n"
        )


def test_evidence_that_was_changed_stops_every_command_with_the_line(guards, folder, guardrail):
    for path in (folder / "evidence").iterdir():
        path.write_text(path.read_text() + " ")
    found = guardrail("check", "--guards", "anchored.yaml")
    assert found.returncode == 2
    assert found.stderr.count("anchored.yaml:3: ") == 2
    assert "does not match its own name; restore it from git" in found.stderr


def test_a_floor_left_behind_is_noted_and_fails_when_strict(guards, folder, guardrail):
    (folder / "engine.txt").write_text("800")
    check = ("check", "--guards", "anchored.yaml", "--only", "decode")
    lenient = guardrail(*check)
    assert lenient.returncode == 0
    assert "anchor of rate: stale floor: 800 tokens/s is better than the anchor" in lenient.stdout
    strict = guardrail(*check, "--strict")
    assert strict.returncode == 1
    assert "rate: stale floor: 800 tokens/s" in strict.stdout


def test_a_saved_run_is_judged_by_the_derived_bound(guards, folder, guardrail):
    (folder / "engine.txt").write_text("680")
    check = ("check", "--guards", "anchored.yaml", "--only", "decode")
    guardrail(*check, "--format", "json", "--output", "run.json")
    found = guardrail(*check, "--from", "run.json")
    assert found.returncode == 1
    assert "rate (h200) is 680 tokens/s, must be at least 686 (anchor 700)" in found.stdout
