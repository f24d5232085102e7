import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from guardrail.records.report import RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters.terminal import TerminalReporter
from helpers import reports
from helpers.random_reports import RUNS

GOLDEN = Path(__file__).parents[2] / "data" / "reporters"
GOLDEN_RUNS = sorted(set(reports.ALL) - {"long"})


def render(run: RunReport, width: int = 100, color: bool = False) -> str:
    return TerminalReporter(width, color).render(run)


@pytest.mark.parametrize("name", GOLDEN_RUNS)
def test_output_at_100_columns_is_the_kept_one(name: str) -> None:
    assert render(reports.ALL[name]) == (GOLDEN / f"terminal-{name}.txt").read_text(encoding="utf-8")


def test_every_kept_output_belongs_to_a_run() -> None:
    assert sorted(path.name for path in GOLDEN.glob("terminal-*")) == [
        f"terminal-{name}.txt" for name in GOLDEN_RUNS
    ]


def test_colored_output_reads_as_the_plain_one() -> None:
    for run in reports.ALL.values():
        colored = render(run, color=True)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", colored)
        assert [line.rstrip() for line in plain.splitlines()] == render(run).splitlines()
        assert "\x1b[" in colored


def test_a_failure_is_red_and_user_text_brings_no_color_of_its_own() -> None:
    colored = render(reports.ALL["hostile"], color=True)
    assert "\x1b[1;31mFAIL\x1b[0m" in colored
    assert "[bold]größer[/bold]" in colored
    assert "\x1b[31mred" not in colored


@pytest.mark.parametrize("variable", ["NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"])
@pytest.mark.parametrize("color", [True, False])
def test_the_environment_does_not_change_the_output(
    variable: str, color: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variable, raising=False)
    expected = render(reports.MIXED, color=color)
    monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("TERM", "dumb")
    assert render(reports.MIXED, color=color) == expected


@settings(max_examples=40, deadline=None)
@given(RUNS, st.integers(40, 140))
def test_no_line_is_wider_than_the_terminal_or_acts_on_it(run: RunReport, width: int) -> None:
    lines = render(run, width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", "".join(lines))


def test_eight_lines_of_evidence_are_shown_and_the_others_counted() -> None:
    text = render(reports.report(reports.FAILING))
    assert text.count("arm tall computes") == 8
    assert "… 3 more (in the JSON report)" in text


def test_another_outcome_within_a_failing_guard_is_named() -> None:
    guard = replace(
        reports.FAILING,
        verdicts=(
            Verdict(Status.ERROR, "not-measured", "the worker hung"),
            Verdict(Status.FAIL, "above-ceiling", "too slow"),
        ),
    )
    lines = render(reports.report(guard)).splitlines()
    assert lines.index("  too slow") < lines.index("  error: the worker hung")


def test_a_place_that_does_not_fit_beside_the_name_goes_below_it() -> None:
    guard = replace(reports.FAILING, id="a-name-of-thirty-characters-xx")
    lines = render(reports.report(guard), width=40).splitlines()
    heading = lines.index("FAIL  a-name-of-thirty-characters-xx")
    assert lines[heading + 1] == "  guards.yaml:3"
