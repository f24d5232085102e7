import re
from pathlib import Path

import pytest

from guardrail.store.ledger_row import Row

ROOT = Path(__file__).parents[2]

WHAT = ("--what", "two units ahead", "--mechanism", "2 x 210 B in flight", "--date", "2026-11-30")
REGISTER = ("ledger", "add", "--id", "two-units", "--verdict", "registered", *WHAT)
REGISTERED = (*REGISTER, "--criterion", "accept B/A <= 0.985", "--arm", "A=v2", "--arm", "B=v2_pf")
KILL = (
    "ledger",
    "add",
    "--id",
    "two-units-killed",
    "--verdict",
    "killed",
    *WHAT,
    "--registered",
    "two-units",
)
KILLED = (
    *KILL,
    "--interval",
    "0.998",
    "1.003",
    "--lesson",
    "the loads were hidden",
    "--reopen",
    "more latency",
)


def test_a_lever_is_registered_killed_listed_and_found(guardrail):
    first = guardrail(*REGISTERED)
    assert (first.returncode, first.stdout) == (0, "ledger.yaml:4: two-units\n")
    second = guardrail(*KILLED)
    assert (second.returncode, second.stderr) == (0, "")
    assert [line.split()[:3] for line in guardrail("ledger", "list").stdout.splitlines()[1:]] == [
        ["two-units", "2026-11-30", "registered"],
        ["two-units-killed", "2026-11-30", "killed"],
    ]
    shown = guardrail("ledger", "show", "two-units-killed").stdout.splitlines()
    assert shown[0] == second.stdout.rpartition(":")[0]
    assert "interval    (0.998 to 1.003)" in shown
    assert shown[-1].split()[0] == "two-units"
    found = guardrail("ledger", "search", "HIDDEN", "flight").stdout
    assert "two-units-killed: the loads were hidden" in found
    assert "two-units-killed: reopen if more latency" in found
    assert "registered " not in found


def test_words_that_no_row_holds_are_said_to_be_held_by_none(guardrail):
    assert guardrail(*REGISTERED).returncode == 0
    found = guardrail("ledger", "search", "split", "scales")
    assert (found.returncode, found.stdout) == (0, "no row of ledger.yaml holds split and scales\n")


@pytest.mark.parametrize("words", [("",), ("units", " ")])
def test_an_empty_word_is_refused_because_every_row_holds_it(guardrail, words):
    assert guardrail(*REGISTERED).returncode == 0
    found = guardrail("ledger", "search", *words)
    message = "guardrail: a word to search for is empty; 'guardrail ledger list' lists every row\n"
    assert (found.returncode, found.stdout, found.stderr) == (2, "", message)


def test_the_documented_look_ups_find_rows_of_the_bundled_ledger(guardrail):
    text = (ROOT / "docs" / "ledger.md").read_text()
    commands = re.findall(r"^guardrail (ledger (?:search|show) [^#\n]+)", text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        found = guardrail(*command.split(), "--ledger", ROOT / "ledger.yaml")
        assert (found.returncode, "int4-split-kv-forced" in found.stdout) == (0, True), command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (REGISTER, "guardrail: a row with verdict registered needs 'criterion' and 'arms'\n"),
        (KILL, "guardrail: a row with verdict killed needs 'lesson' and 'reopen'\n"),
        ((*REGISTERED, "--arm", "C"), "guardrail: --arm C: expected NAME=TEXT\n"),
        (
            KILLED,
            "guardrail: ledger.yaml: this row cannot be appended: "
            "registered: no earlier row is named 'two-units'\n",
        ),
        ((*REGISTERED, "--date", "2026-13-01"), "guardrail: date: there is no day 2026-13-01\n"),
        ((*KILLED, "--estimate", "-3"), "guardrail: estimate must be greater than 0\n"),
        ((*KILLED, "--interval", "-1", "1"), "guardrail: interval[0] must be greater than 0\n"),
        (
            (*KILLED, "--commit", "not a commit!!"),
            "guardrail: commit: expected a git commit: 7 hexadecimal digits or more, and ' with changes' "
            "where it had some\n",
        ),
        ((*KILLED, "--estimate", "nan"), "guardrail: estimate must be a finite number\n"),
    ],
)
def test_an_incomplete_row_is_refused(guardrail, arguments, message):
    found = guardrail(*arguments)
    assert (found.returncode, found.stdout, found.stderr) == (2, "", message)


@pytest.mark.parametrize("reading", [("list",), ("search", "split"), ("show", "two-units")])
def test_a_ledger_that_is_not_there_is_not_taken_for_one_without_prior_art(guardrail, reading):
    found = guardrail("ledger", *reading, "--ledger", "leger.yaml")
    message = "leger.yaml: there is no such file; expected a ledger, which 'guardrail ledger add' begins"
    assert (found.returncode, found.stdout, found.stderr) == (2, "", f"guardrail: {message}\n")


def test_a_row_that_is_not_there_is_refused_with_the_nearest(guardrail):
    assert guardrail(*REGISTERED).returncode == 0
    found = guardrail("ledger", "show", "two-unit")
    assert (found.returncode, found.stderr) == (
        2,
        "guardrail: ledger.yaml has no row 'two-unit'; did you mean 'two-units'?\n",
    )


def test_a_verdict_that_is_none_is_refused(guardrail):
    found = guardrail("ledger", "add", "--id", "x", "--verdict", "won", *WHAT)
    assert found.returncode == 2
    assert found.stderr == (
        "guardrail: verdict must be 'registered', 'landed', 'killed', 'measured-only' or "
        "'vetoed-before-build'\n"
    )


def test_a_ledger_that_was_cut_short_is_named_with_its_line(guardrail, folder):
    assert guardrail(*REGISTERED).returncode == 0
    whole = (folder / "ledger.yaml").read_text()
    (folder / "ledger.yaml").write_text(whole[: whole.index("    mechanism")])
    found = guardrail("ledger", "list")
    assert (found.returncode, found.stderr) == (
        2,
        "guardrail: ledger.yaml:4: the key 'mechanism' is missing\n",
    )


def test_the_documented_keys_are_those_of_a_row():
    text = (ROOT / "docs" / "ledger.md").read_text()
    documented = re.findall(r"^\| `(\w+)` \| ([A-Z][^|]*) \|$", text, re.MULTILINE)
    assert documented == [(name, field.description) for name, field in Row.model_fields.items()]


def test_the_bundled_ledger_is_sound(guardrail):
    found = guardrail("ledger", "list", "--ledger", ROOT / "ledger.yaml")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines()[1].split()[0] == "int4-split-kv-forced"
