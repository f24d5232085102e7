from dataclasses import replace

import pytest
from hypothesis import given, settings

from guardrail.records.measurement import Measurement
from guardrail.records.report import RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters.github import annotations, summary
from guardrail.reporters.markdown import escaped
from helpers import reports
from helpers.random_reports import RUNS


def test_annotations_mark_the_bound_or_the_guard_worst_first() -> None:
    short = replace(reports.FAILING, verdicts=(replace(reports.FAILING.verdicts[0], evidence=("a", "b")),))
    assert annotations(replace(reports.MIXED, guards=(*reports.MIXED.guards[:-1], short))).splitlines() == [
        "::error file=guards.yaml,line=8,title=q6k-gate-covers::the gate picks arms that drop 396288 of "
        "3170304 units: dropped_units must be exactly 0%0Aoff by 396288 units%0Aa%0Ab",
        "::error file=guards.yaml,line=12,title=tall-numerics::the worker ran out of device memory: free "
        "some, or lower the case sizes",
        "::warning file=guards.yaml,line=34,title=decode-7b-tg128::tokens_per_second lies between 680.25 and "
        "704.5, and the floor is 686: measure for longer",
        "::warning file=guards.yaml,line=21,title=attend-resources::the anchor was taken with triton 3.6.0, "
        "this run used 3.7.1",
        "::warning file=guards.yaml,line=30,title=decode-7b-tg128::the clock fell by 4 %25 during the window",
    ]


def test_an_annotation_says_how_far_off_the_nearer_end_of_an_interval_is() -> None:
    slow = Verdict(
        Status.FAIL, "beyond-ceiling", "delay is 56 ms", metric="delay", unit="ms", measured=56.0, excess=18.5
    )
    measured = Measurement("delay", "ms", 56.0, interval=(28.5, 81.5))
    guard = replace(reports.FAILING, verdicts=(slow,), measurements=(measured,))
    assert annotations(reports.report(guard)).endswith(
        "::delay is 56 ms%0Aoff by at least 18.5 ms (interval 28.5 to 81.5)\n"
    )


def test_a_green_run_has_no_annotations() -> None:
    assert annotations(reports.GREEN) == ""


def test_an_absent_profile_is_annotated_without_a_place() -> None:
    assert annotations(reports.ALL["absent-profile"]) == (
        "::error title=guardrail::required profiles that are not this machine's: h200, b200\n"
    )


def test_a_warning_of_the_run_is_annotated_without_a_place_and_heads_the_summary() -> None:
    sentence = "TRITON_DEBUG=1 compiles checks; unset TRITON_DEBUG"
    assert annotations(reports.ALL["warned"]) == f"::warning title=guardrail::{sentence}\n"
    assert summary(reports.ALL["warned"]).splitlines()[4] == f"**warning**: {escaped(sentence)}"


def test_messages_and_properties_are_escaped_each_in_its_own_way() -> None:
    verdict = Verdict(Status.FAIL, "code", "100%\r\n::error::a, b: c\rd")
    guard = replace(reports.FAILING, id="a:b,c%", verdicts=(verdict,))
    run = replace(reports.report(guard), guards_file="x,y.yaml")
    assert annotations(run) == (
        "::error file=x%2Cy.yaml,line=3,title=a%3Ab%2Cc%25::100%25%0A::error::a, b: cd\n"
    )


@pytest.mark.parametrize(("count", "last"), [(10, None), (11, "2"), (60, "51")])
def test_at_most_ten_of_a_kind_and_the_tenth_counts_the_others(count: int, last: str | None) -> None:
    warned = replace(reports.PASSING, warnings=("slow",))
    run = reports.report(*reports.numbered(reports.FAILING, count), *reports.numbered(warned, count))
    lines = annotations(run).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error"] * 10 + ["::warning"] * 10
    for tenth in (lines[9], lines[19]):
        if last is None:
            assert "file=guards.yaml" in tenth
        else:
            assert tenth.endswith(
                f" title=guardrail::{last} more are not shown here (they are in the JSON report)"
            )


def test_a_long_message_is_cut() -> None:
    guard = replace(reports.FAILING, verdicts=(Verdict(Status.FAIL, "code", "x" * 10_000),))
    message = annotations(reports.report(guard)).rstrip("\n").rpartition("::")[2]
    assert message == "x" * 4095 + "…"


@settings(max_examples=40, deadline=None)
@given(RUNS)
def test_any_run_makes_one_command_a_line_and_a_row_for_each_guard(run: RunReport) -> None:
    for line in annotations(run).split("\n")[:-1]:
        assert line.startswith(("::error ", "::warning "))
    rows = [line for line in summary(run).splitlines() if line.startswith("| ")]
    assert len(rows) == (len(run.guards) + 2 if run.guards else 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        ("`code` *x* _y_ [z](w)", r"\`code\` \*x\* \_y\_ \[z\](w)"),
        ("<b>&amp;</b>", "&lt;b&gt;&amp;amp;&lt;/b&gt;"),
        ("a\r\nb\n\nc", "a b c"),
        (r"back\slash|", r"back\\slash\|"),
        ("$x$", "<span>$</span>x<span>$</span>"),
        ("x" * 3000, "x" * 1999 + "…"),
    ],
)
def test_text_in_markdown_is_shown_as_it_is(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_the_summary_gives_problems_first_and_a_row_for_every_guard() -> None:
    lines = summary(reports.MIXED).splitlines()
    assert lines[2] == "**5 guards: 1 pass, 1 fail, 1 error, 1 undecided, 1 skipped (1 min 33 s, 1 cached)**"
    assert [line for line in lines if line.startswith("### ")] == [
        "### fail: q6k-gate-covers",
        "### error: tall-numerics",
        "### undecided: decode-7b-tg128",
    ]
    assert lines[lines.index("### fail: q6k-gate-covers") + 2 :][:8] == [
        r"every q6\_K row length is fully computed by the arm its gate picks (guards.yaml:3)",
        "",
        r"- **fail**: the gate picks arms that drop 396288 of 3170304 units: dropped\_units must be "
        "exactly 0",
        r"  - metric: dropped\_units",
        "  - where: model qwen2.5-7b",
        "  - measured: 396288 units",
        "  - bound: exactly 0 (guards.yaml:8)",
        "  - off by: 396288 units",
    ]
    assert lines[-7:] == [
        "| status | guard | probe | subject | time | notes |",
        "| --- | --- | --- | --- | ---: | --- |",
        "| fail | q6k-gate-covers | dispatch | q6k.mmvq | 1.8 s |  |",
        r"| error | tall-numerics | numerics | q6k.mul\_mat\_vec | 1 min 15 s |  |",
        r"| undecided | decode-7b-tg128 | decode | reference\_decode | 12.0 s | warning: the clock fell by "
        "4 % during the window |",
        r"| pass | attend-resources | resources | int4\_attention.attend\_segments | cached | skipped: no "
        r"assembler for this architecture is installed (build h128, arch sm\_120); warning: the anchor was "
        "taken with triton 3.6.0, this run used 3.7.1 |",
        "| skipped | decode-3090 | decode | reference\\_decode | - | skipped: anchored to rtx3090, and this "
        "is h200 |",
    ]


def test_the_summary_says_what_no_guard_shows() -> None:
    assert "**error**: nothing was checked" in summary(reports.report())


def test_a_summary_that_fits_is_not_cut() -> None:
    whole = summary(reports.ALL["long"])
    assert summary(reports.ALL["long"], limit=len(whole.encode())) == whole
    assert "Cut here" not in whole


@pytest.mark.parametrize("limit", [400, 5_000, 20_001, 60_000])
def test_a_summary_is_cut_in_bytes_after_a_whole_row_and_says_how_much_is_missing(limit: int) -> None:
    run = reports.report(*reports.numbered(reports.HOSTILE, 100), *reports.numbered(reports.PASSING, 100))
    whole = summary(run)
    text = summary(run, limit=limit)
    assert len(text.encode()) <= limit
    kept, _, notice = text.partition("\n**Cut here: ")
    assert whole.startswith(kept)
    assert kept.endswith("\n")
    assert notice.endswith("entries do not fit into this summary. The JSON report has everything.**\n")


def test_a_huge_run_stays_below_what_github_accepts() -> None:
    guard = replace(reports.FAILING, title="µ" * 1900)
    text = summary(reports.report(*reports.numbered(guard, 600)))
    assert 1024 * 1024 - 10_000 < len(text.encode()) <= 1024 * 1024
    assert "### fail: q6k-gate-covers-0\n" in text
    assert "**Cut here: " in text
