from dataclasses import replace

from guardrail.reanchor.ledger_rows import ledger_row
from guardrail.reanchor.order import Order
from guardrail.reanchor.plan import evidence_of, move_of, with_slack
from guardrail.reanchor.toolchain import toolchain
from helpers.anchors import HASH, STATED, TREE
from unit.reanchor.conftest import FACTS, ORDER

FIX = Order("correctness-fix", "the tall rows are computed again", ref="#5")
TOOLS = "driver 580.95, triton 3.7.1, torch 2.13.0"


def test_a_toolchain_names_the_driver_and_the_compilers():
    assert toolchain(TREE) == TOOLS
    assert toolchain(replace(TREE, device=None, versions={"python": "3.12"})) == ""


def test_evidence_holds_every_window_and_names_no_host(series):
    evidence = evidence_of(series(699.0, 700.0, 702.0), FIX, FACTS, [], "2026-12-09")
    assert (evidence.value, evidence.commit, evidence.date) == (700.0, "0123abcd4567", "2026-12-09")
    assert [window.value for window in evidence.windows] == [699.0, 700.0, 702.0]
    assert [window.subject_hash for window in evidence.windows] == ["cafe"] * 3
    assert {window.provenance.host for window in evidence.windows} != {TREE.host}
    assert len({window.provenance.host for window in evidence.windows}) == 1
    assert (evidence.ref, evidence.toolchain) == ("#5", TOOLS)


def test_a_fix_makes_the_old_number_incomparable(series):
    found = series(699.0, 680.0, 702.0)
    move = move_of(found, evidence_of(found, FIX, FACTS, [], "2026-12-09"), HASH, None)
    assert move.anchor == {
        "value": 699.0,
        "class": "correctness-fix",
        "reason": "the tall rows are computed again",
        "ref": "#5",
        "commit": "0123abcd4567",
        "date": "2026-12-09",
        "toolchain": TOOLS,
        "evidence": HASH,
    }
    assert move.past == {
        "profile": "h200",
        **{key: value for key, value in STATED.items() if key != "date"},
        "valid_from": "2026-12-03",
        "valid_until": "2026-12-09",
        "incomparable_before": "0123abcd4567",
    }
    assert (move.superseded, move.slack) == (STATED["evidence"], None)


def test_a_first_anchor_leaves_no_history(series):
    found = series(699.0, 700.0, 702.0, bound={"slack": "2%"})
    move = move_of(found, evidence_of(found, ORDER, FACTS, [], "2026-12-09"), HASH, "3%")
    assert (move.past, move.superseded, move.slack) == (None, None, "3%")


def test_only_a_fix_makes_numbers_incomparable(series):
    found = series(699.0, 700.0, 702.0)
    move = move_of(found, evidence_of(found, ORDER, FACTS, [], "2026-12-09"), HASH, None)
    assert move.past is not None
    assert "incomparable_before" not in move.past


def test_another_slack_is_what_the_windows_are_judged_by(series):
    assert with_slack(series(700.0), "5%").bound.slack == "5%"
    assert with_slack(series(700.0), None).bound.slack == "2%"


def test_the_ledger_is_told_by_how_much_and_why(series):
    found = series(686.0, 686.0, 686.0)
    row = ledger_row(found, evidence_of(found, FIX, FACTS, [], "2026-12-09"), HASH, ())
    assert row.id == "reanchor-decode-aaaaaaaaaaaa"
    assert row.what == "re-anchor decode: rate (h200) from 700.0 to 686.0 tokens/s, class correctness-fix"
    assert (row.estimate, row.interval, row.commit) == (0.98, [0.98, 0.98], "0123abcd4567")
    assert row.mechanism == "the tall rows are computed again (#5)"
    assert row.arms == {"old": "the anchor of commit 0123abc", "new": "commit 0123abcd4567"}


def test_a_first_anchor_has_no_ratio(series):
    found = series(686.0, 686.0, 686.0, bound={"slack": "2%"})
    row = ledger_row(found, evidence_of(found, ORDER, FACTS, [], "2026-12-09"), HASH, ())
    assert (row.estimate, row.interval, row.arms) == (None, None, {"new": "commit 0123abcd4567"})


def test_a_metric_that_falls_to_zero_leaves_a_row_without_a_ratio(series):
    found = series(
        0, 0, 0, bound={"slack": "0%", "side": "ceiling", "anchor": {"h200": STATED | {"value": 5}}}
    )
    row = ledger_row(found, evidence_of(found, ORDER, FACTS, [], "2026-12-09"), HASH, ())
    assert (row.estimate, row.interval) == (None, None)
    assert row.what == "re-anchor decode: rate (h200) from 5 to 0 tokens/s, class measurement"
