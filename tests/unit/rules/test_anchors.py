"""Derived bounds are judged, and anchors that say little are reported."""

from datetime import date

import pytest

from guardrail.records.measurement import Measurement
from guardrail.records.report import GuardResult
from guardrail.records.verdict import Status
from guardrail.rules.anchors import Today, is_anchor_note, review_anchors
from guardrail.rules.bounds import judge
from helpers.anchors import STATED
from helpers.fakes import loaded_guard

TODAY = Today(date(2027, 1, 1), "driver 580.95, triton 3.7.1")
BOUND = {"slack": "2%", "anchor": STATED}


def judged(bound, value, **fields):
    (verdict,) = judge(loaded_guard({"rate": bound}), [Measurement("rate", "t/s", value, **fields)])
    return verdict


def reviewed(bound, value, today=TODAY, warnings=(), **fields):
    loaded = loaded_guard({"rate": bound})
    measured = Measurement("rate", "t/s", value, **fields)
    verdicts = tuple(judge(loaded, [measured]))
    result = GuardResult("guard", "t", "p", "s", 3, verdicts, (measured,), warnings=warnings)
    return review_anchors(loaded, result, today)


@pytest.mark.parametrize(
    ("bound", "value", "status", "code", "sentence"),
    [
        (BOUND, 686.0, Status.PASS, "holds", "rate is 686 t/s, at least 686 (anchor 700)"),
        (BOUND, 685.9, Status.FAIL, "beyond-floor", "rate is 685.9 t/s, must be at least 686 (anchor 700)"),
        (
            {"slack": "2%", "side": "ceiling", "anchor": STATED | {"value": 50}},
            52,
            Status.FAIL,
            "beyond-ceiling",
            "rate is 52 t/s, must be at most 51 (anchor 50)",
        ),
        (
            {"slack": "2%"},
            700.0,
            Status.ERROR,
            "not-anchored",
            "rate is not anchored, so no bound is derived; measure one with 'guardrail reanchor'",
        ),
        (
            {"slack": "2%", "anchor": {"h200": STATED}},
            700.0,
            Status.ERROR,
            "not-anchored",
            "rate is not anchored here, only for h200, so no bound is derived; "
            "measure one with 'guardrail reanchor'",
        ),
    ],
)
def test_a_derived_bound_decides(bound, value, status, code, sentence):
    verdict = judged(bound, value)
    assert (verdict.status, verdict.code, verdict.sentence) == (status, code, sentence)


def test_a_slack_below_the_windows_own_spread_decides_nothing():
    verdict = judged(BOUND, 700.0, samples=(690.0, 700.0, 711.0))
    assert (verdict.status, verdict.code) == (Status.ERROR, "slack-below-spread")
    assert verdict.sentence == (
        "rate: the slack of 2% is smaller than the spread of 3.00% between its own 3 windows; "
        "measure more quietly, or widen it with 'guardrail reanchor --slack'"
    )


@pytest.mark.parametrize("samples", [(), (700.0,), (690.0, 700.0, 704.0), (0.0, 700.0)])
def test_windows_within_the_slack_or_without_a_spread_are_judged(samples):
    assert judged(BOUND, 700.0, samples=samples).status is Status.PASS


def test_a_noisy_loss_is_a_failure_all_the_same():
    verdict = judged(BOUND, 600.0, samples=(580.0, 600.0, 620.0), interval=(580.0, 620.0))
    assert (verdict.status, verdict.excess) == (Status.FAIL, 66.0)


@pytest.mark.parametrize(
    ("bound", "value", "interval", "stale"),
    [
        (BOUND, 714.0, None, False),
        (BOUND, 714.1, None, True),
        (BOUND, 720.0, (713.0, 727.0), False),
        (BOUND, 720.0, (715.0, 727.0), True),
        (BOUND | {"side": "ceiling"}, 686.0, None, False),
        (BOUND | {"side": "ceiling"}, 685.0, None, True),
    ],
)
def test_a_bound_left_behind_is_reported_and_fails_when_strict(bound, value, interval, stale):
    lenient = reviewed(bound, value, interval=interval)
    assert any("stale" in warning for warning in lenient.warnings) is stale
    assert lenient.status is Status.PASS
    strict = reviewed(bound, value, Today(TODAY.day, TODAY.toolchain, strict=True), interval=interval)
    assert strict.status is (Status.FAIL if stale else Status.PASS)
    assert ("stale-anchor" in [verdict.code for verdict in strict.verdicts]) is stale


def test_a_stale_floor_is_said_with_its_figures():
    (warning,) = reviewed(BOUND, 800.0).warnings
    assert warning == (
        "anchor of rate: stale floor: 800 t/s is better than the anchor by more than the slack of 2% (714), "
        "so the floor of 686 would hide a loss; move it with 'guardrail reanchor'"
    )


@pytest.mark.parametrize(
    ("day", "keys", "old"),
    [
        (date(2027, 6, 1), {}, False),
        (date(2027, 6, 2), {}, True),
        (date(2026, 12, 13), {"max_age_days": 10}, False),
        (date(2026, 12, 14), {"max_age_days": 10}, True),
    ],
)
def test_an_old_anchor_is_reported(day, keys, old):
    warnings = reviewed(BOUND | keys, 700.0, Today(day, "")).warnings
    assert any("days ago" in warning for warning in warnings) is old


def test_another_toolchain_is_reported_with_what_changed():
    stated = STATED | {"toolchain": "driver 570.1, triton 3.7.1, torch 2.13.0"}
    (warning,) = reviewed(BOUND | {"anchor": stated}, 700.0).warnings
    assert warning == (
        "anchor of rate: measured with another toolchain: driver 570.1 -> 580.95, torch 2.13.0 -> none"
    )


def test_a_review_replaces_the_notes_of_an_earlier_one_and_no_other_warning():
    result = reviewed(BOUND, 700.0, warnings=("anchor of rate: stale floor: old news", "the clock fell"))
    assert result.warnings == ("the clock fell",)
    assert is_anchor_note("anchor of rate: x") and not is_anchor_note("the clock fell")


def test_an_anchor_for_another_profile_is_left_alone():
    bound = {"slack": "2%", "anchor": {"h200": STATED, "gb10": STATED | {"value": 5, "date": "2020-01-01"}}}
    assert reviewed(bound, 700.0, where={"device": "h200"}).warnings == ()
