import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardrail.errors import UsageError
from guardrail.spec.faults import ConfigurationError
from guardrail.store.ledger import Ledger, parse_ledger, read_begun_ledger, read_ledger
from guardrail.store.ledger_append import append_row
from guardrail.store.ledger_row import Row

PLAIN = {"date": "2026-11-30", "what": "load two units ahead", "mechanism": "2 x 210 B in flight"}
REGISTERED = {
    **PLAIN,
    "id": "two-units",
    "verdict": "registered",
    "criterion": ["accept B/A <= 0.985"],
    "arms": {"A": "v2", "B": "v2_pf"},
}
KILLED = {
    **PLAIN,
    "id": "two-units-killed",
    "verdict": "killed",
    "interval": [0.998, 1.003],
    "lesson": "the loads were in flight already",
    "reopen": "a card with more latency",
    "registered": "two-units",
}


def row(stated, **changes):
    return Row.model_validate({**stated, **changes})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.yaml"


def faults(path):
    with pytest.raises(ConfigurationError) as caught:
        read_ledger(path)
    return str(caught.value).splitlines()


def test_only_a_ledger_that_is_begun_may_be_missing(path):
    assert read_begun_ledger(path) == Ledger(path)
    with pytest.raises(ConfigurationError, match="there is no such file; expected a ledger"):
        read_ledger(path)
    path.touch()
    assert read_ledger(path).entries == ()


@pytest.mark.parametrize("begun", [b"version: 1\nrows:\n", b"version: 1\r\nrows:\r\n"])
def test_a_ledger_that_was_begun_by_hand_takes_its_first_row(path, begun):
    path.write_bytes(begun)
    assert append_row(path, row(REGISTERED)).line == 3
    assert [entry.row.id for entry in read_ledger(path).entries] == ["two-units"]


@pytest.mark.parametrize(
    "layout",
    [
        "rows: []\n",
        "rows:\n- {id: x, date: 2026-11-30, verdict: measured-only, what: w, mechanism: m, arms: {A: b}}\n",
    ],
)
def test_a_layout_that_takes_no_row_is_named(path, layout):
    path.write_text("version: 1\n" + layout)
    with pytest.raises(UsageError, match="its last key must be 'rows', with each row below it as '  - id"):
        append_row(path, row(REGISTERED))
    assert path.read_text() == "version: 1\n" + layout


def test_rows_come_back_as_they_were_with_their_lines(path):
    assert append_row(path, row(REGISTERED)).line == 4
    append_row(path, row(KILLED))
    ledger = read_ledger(path)
    assert [entry.row for entry in ledger.entries] == [row(REGISTERED), row(KILLED)]
    lines = path.read_text().splitlines()
    assert [lines[entry.line - 1] for entry in ledger.entries] == [
        "  - id: two-units",
        "  - id: two-units-killed",
    ]


def test_appending_changes_no_earlier_byte(path):
    append_row(path, row(REGISTERED))
    path.write_text(path.read_text() + "  # a reviewer's note\n")
    before = path.read_bytes()
    append_row(path, row(KILLED))
    after = path.read_bytes()
    assert after[: len(before)] == before
    assert after[len(before) :].startswith(b"  - id: two-units-killed\n")


def test_a_row_that_was_cut_short_anywhere_is_refused_with_its_line(path):
    append_row(path, row(REGISTERED))
    first = path.read_bytes()
    append_row(path, row(KILLED))
    whole = path.read_bytes()
    begun = first.count(b"\n") + 1
    for size in range(len(first) + 1, len(whole)):
        path.write_bytes(whole[:size])
        (fault, *_) = faults(path)
        place, line = fault.split(":")[:2]
        assert (place, int(line) >= begun) == (str(path), True), fault


def test_a_file_that_ends_within_a_line_says_so(path):
    append_row(path, row(REGISTERED))
    path.write_bytes(path.read_bytes()[:-1])
    assert faults(path) == [
        f"{path}:13: the last line is cut short: the row above it may be incomplete; complete or remove it"
    ]
    with pytest.raises(ConfigurationError, match="the last line is cut short"):
        append_row(path, row(KILLED))


LETTERS = st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=("Cc", "Cf"))
TEXT = st.text(LETTERS, min_size=1, max_size=130)


@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT, min_size=1, max_size=3))
def test_any_text_survives(tmp_path_factory, what, mechanism, arms):
    path = tmp_path_factory.mktemp("ledger") / "ledger.yaml"
    stated = row(REGISTERED, what=what, mechanism=mechanism, arms=arms)
    append_row(path, stated)
    assert read_ledger(path).entries[0].row == stated


@pytest.mark.parametrize(
    "text", ["null", "1e3", "0123", "12e4567", "yes", "2026-11-30", "- a", "a: b # c", "'", '"']
)
def test_words_that_mean_something_to_yaml_stay_text(path, text):
    append_row(path, row(REGISTERED, what=text, arms={"A": text, "B": text}))
    (entry,) = read_ledger(path).entries
    assert (entry.row.what, entry.row.arms) == (text, {"A": text, "B": text})


def append_some(path, name):
    for number in range(10):
        append_row(path, row(REGISTERED, id=f"{name}-{number}"))


def test_rows_of_several_processes_are_all_kept(path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=append_some, args=(path, name)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    names = [entry.row.id for entry in read_ledger(path).entries]
    assert sorted(names) == [f"{name}-{number}" for name in "abc" for number in range(10)]


def test_a_refused_row_leaves_the_file_as_it_was(path):
    append_row(path, row(REGISTERED))
    before = path.read_bytes()
    with pytest.raises(UsageError) as caught:
        append_row(path, row(REGISTERED))
    assert str(caught.value) == (
        f"{path}: this row cannot be appended: the id 'two-units' is used on line 4 already"
    )
    assert path.read_bytes() == before


def test_a_ledger_to_which_nothing_can_be_appended_is_refused(path):
    append_row(path, row(REGISTERED))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[2:], lines[1]]))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="no row can be appended; its last key must be 'rows'"):
        append_row(path, row(KILLED))
    assert path.read_bytes() == before


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(UsageError, match="cannot be written: Is a directory"):
        append_row(tmp_path, row(REGISTERED))


def test_every_fault_is_named_with_its_line(path):
    path.write_text(
        "version: 1\nrows:\n"
        "  - id: One\n    date: yesterday\n    verdict: landed\n    what: w\n    mechanism: m\n"
        "  - id: two\n    date: '2026-11-30'\n    verdict: killed\n    what: w\n    mechanism: m\n"
        "    corrects: one\n    colour: red\n"
        "  - three\n"
    )
    assert faults(path) == [
        f"{path}:3: id must be lower-case letters and digits, joined by single '.', '_' or '-'",
        f"{path}:4: date must be a day, such as 2026-12-03",
        f"{path}:14: unknown key 'colour'; known: arms, commit, confidence, corrects, criterion, date, "
        "estimate, id, interval, lesson, mechanism, metric, outcome, registered, reopen, verdict, what",
        f"{path}:15: this must be 'name: value' lines, not the text 'three'",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": "landed"}, "a row with verdict landed needs 'commit'"),
        ({"verdict": "vetoed-before-build", "reopen": None}, "verdict vetoed-before-build needs 'reopen'"),
        ({"verdict": "measured-only"}, "a row with verdict measured-only needs 'arms'"),
        ({"commit": "not a commit!!"}, "expected a git commit: 7 hexadecimal digits or more"),
        ({"commit": "abc123"}, "expected a git commit: 7 hexadecimal digits or more"),
        ({"commit": "0123abc with change"}, "and ' with changes' where it had some"),
        ({"estimate": -3}, "greater than 0"),
        ({"estimate": 0.0}, "greater than 0"),
        ({"interval": [-1.0, 1.0]}, "greater than 0"),
        ({"interval": [2, 1]}, r"the interval \[2, 1\] ends before it begins"),
        ({"verdict": "registered", "criterion": ["c"], "arms": {"A": "a"}}, "precedes the measurement"),
    ],
)  # fmt: skip
def test_a_row_states_what_its_verdict_asks_for(changes, message):
    with pytest.raises(ValueError, match=message):
        row(KILLED, **changes)


@pytest.mark.parametrize(
    "commit", ["0123abc", "3729787", "0123abcd" * 5, "0123abcd" * 8, "0123abc with changes"]
)
def test_a_commit_is_named_by_its_digits_and_may_have_changes(path, commit):
    append_row(path, row(KILLED, commit=commit, registered=None))
    assert read_ledger(path).entries[0].row.commit == commit


def test_a_commit_and_a_ratio_that_are_none_are_refused_with_their_lines(path):
    append_row(path, row(KILLED, commit="0123abc", estimate=0.9, registered=None))
    path.write_text(path.read_text().replace("0123abc", "not a commit!!").replace("0.9\n", "-3\n"))
    assert faults(path) == [
        f"{path}:8: commit: expected a git commit: 7 hexadecimal digits or more, and ' with changes' where "
        "it had some",
        f"{path}:9: estimate must be greater than 0",
    ]


def test_a_row_refers_to_earlier_rows_alone(path):
    append_row(path, row(REGISTERED))
    with pytest.raises(UsageError, match="registered: no earlier row is named 'two-unit'; did you mean"):
        append_row(path, row(KILLED, registered="two-unit"))
    append_row(path, row(KILLED))
    with pytest.raises(UsageError, match="registered: the row 'two-units-killed' registered nothing"):
        append_row(path, row(KILLED, id="other", registered="two-units-killed"))
    append_row(path, row(KILLED, id="corrected", registered=None, corrects="two-units-killed"))
    related = read_ledger(path).related("two-units-killed")
    assert [entry.row.id for entry in related] == ["two-units", "corrected"]


def test_rows_are_found_by_words_and_by_id(path):
    append_row(path, row(REGISTERED))
    append_row(path, row(KILLED, what="split the scales"))
    ledger = read_ledger(path)
    assert [entry.row.id for entry in ledger.search(["TWO", "ahead"])] == ["two-units"]
    assert [entry.row.id for entry in ledger.search(["flight", "latency"])] == ["two-units-killed"]
    assert ledger.search(["two", "nothing"]) == []
    assert ledger.find("two-units").row.verdict == "registered"
    with pytest.raises(UsageError, match=f"{path} has no row 'two-unit'; did you mean 'two-units'?"):
        ledger.find("two-unit")


def test_prior_art_shares_words_with_what_is_about_to_be_tried(path):
    append_row(path, row(REGISTERED))
    append_row(
        path, row(KILLED, what="split the scales", mechanism="one plane", lesson="none", reopen="never")
    )
    ledger = read_ledger(path)
    assert [entry.row.id for entry in ledger.prior_art("load the units of two rows")] == ["two-units"]
    assert [entry.row.id for entry in ledger.prior_art("scales")] == ["two-units-killed"]
    assert ledger.prior_art("the and for") == []


def test_another_version_is_refused(path):
    with pytest.raises(ConfigurationError, match=r"ledger\.yaml:1: version must be 1"):
        parse_ledger("version: 2\nrows: []\n", path)
