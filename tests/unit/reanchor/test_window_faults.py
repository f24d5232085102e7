from dataclasses import replace

import pytest

from guardrail.reanchor.window_faults import series_faults, window_faults
from guardrail.records.verdict import Status, Verdict
from helpers.anchors import TREE
from unit.reanchor.conftest import BOUND, FACTS, windows

RATE = frozenset({"rate"})


def faults(found, moving=RATE, facts=FACTS):
    return list(window_faults(found, moving, facts))


def verdict(status, code, metric="rate", sentence="so it is"):
    return (Verdict(status, code, sentence, metric=metric),)


def test_clean_windows_are_accepted():
    assert faults(windows(700.0, 701.0, 699.0)) == []


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.FAIL, "beyond-floor"),
        (Status.UNDECIDED, "within-noise"),
        (Status.ERROR, "not-anchored"),
        (Status.FAIL, "stale-anchor"),
    ],
)
def test_what_a_window_says_of_the_old_bound_does_not_matter(status, code):
    assert faults(windows(700.0, verdicts=verdict(status, code))) == []


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        (
            {"verdicts": verdict(Status.UNDECIDED, "nothing-usable", "", "every window was throttled")},
            "decode, window 1 is undecided: every window was throttled; measure again once it holds",
        ),
        (
            {"verdicts": verdict(Status.FAIL, "beyond-ceiling", "spills", "spills is 8, must be at most 0")},
            "decode, window 1 is fail: spills is 8, must be at most 0; measure again once it holds",
        ),
        (
            {"verdicts": verdict(Status.ERROR, "slack-below-spread", "rate", "too noisy")},
            "decode, window 1 is error: too noisy; measure again once it holds",
        ),
        (
            {"warnings": ("another process holds 4 GiB",)},
            "decode, window 1 was spoilt: another process holds 4 GiB; measure again on a quiet machine",
        ),
        ({"cached": True}, "decode, window 1 repeats what the cache held; measure it with --fresh"),
        (
            {"subject_hash": "beef"},
            "decode, window 1 measured other sources than this tree's; measure this tree",
        ),
    ],
)
def test_a_spoilt_window_is_refused(fields, fault):
    assert faults(windows(700.0, **fields)) == [fault]


def test_notes_on_the_old_anchor_spoil_no_window():
    assert faults(windows(700.0, warnings=("anchor of rate: measured 200 days ago",))) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"commit": None}, "was measured outside a git checkout; commit what was measured"),
        ({"dirty": True}, "was measured in a dirty tree; commit or stash the changes, and measure again"),
        (
            {"commit": "f" * 40},
            "was measured at commit ffffffffffff, and this tree is at 0123abcd4567; measure this tree",
        ),
    ],
)
def test_a_window_of_another_tree_is_refused(changes, fault):
    (window,) = windows(700.0)
    foreign = replace(window, provenance=replace(TREE, **changes))
    assert faults([foreign]) == [f"decode, window 1 {fault}"]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"device": "NVIDIA H200 GPU-2, driver 580.95"}, "differ in device (NVIDIA H200 GPU-5a1c, driver"),
        ({"host": "runner-8"}, "differ in host (runner-7; runner-8)"),
        ({"versions": {"triton": "3.6.0"}}, "differ in versions (triton 3.7.1, torch 2.13.0; triton 3.6.0)"),
        ({"knobs": {"TRITON_OTHER": "1"}}, "differ in knobs (none; TRITON_OTHER 1)"),
        (
            {"device_settings": {"power limit": "250 W"}},
            "differ in device_settings (none; power limit 250 W)",
        ),
    ],
)
def test_windows_of_different_places_are_refused(changes, shown):
    first, second = windows(700.0, 701.0)
    (fault,) = faults([first, replace(second, provenance=replace(TREE, **changes))])
    assert shown in fault
    assert fault.endswith("measure all windows in the same place")


def test_windows_that_all_had_a_debug_variable_are_refused():
    debugged = replace(TREE, knobs={"TRITON_DEBUG": "1"})
    found = faults([replace(window, provenance=debugged) for window in windows(700.0, 701.0, 699.0)])
    assert len(found) == 3
    assert found[0] == (
        "decode, window 1 was measured under a debug variable: TRITON_DEBUG=1 compiles checks into every "
        "kernel, so registers and timings are not the kernel's own; unset TRITON_DEBUG"
    )


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        (
            (700.0,),
            "decode: rate (h200) has 1 of at least 3 windows, and one run is no evidence; give as many",
        ),
        ((700.0, 701.0), "has 2 of at least 3 windows"),
        ((700.0, 701.0, None), "decode: rate (h200) is not known in every window; measure again"),
        (
            (690.0, 700.0, 705.0),
            "decode: rate (h200): the windows lie 2.14% apart, more than the slack of 2% allows",
        ),
    ],
)
def test_too_few_or_too_noisy_windows_are_refused(series, values, fault):
    (found,) = series_faults(series(*values))
    assert fault in found


def test_three_quiet_windows_are_enough(series):
    assert list(series_faults(series(700.0, 701.0, 699.0))) == []


def test_windows_within_a_wider_slack_are_accepted(series):
    assert list(series_faults(series(690.0, 700.0, 705.0, bound=BOUND | {"slack": "3%"}))) == []


def test_a_window_that_replays_another_is_refused(series):
    found = list(series_faults(series(700.0, 700.0, 700.0, samples=(699.5, 700.0, 700.5, 701.0))))
    assert found == [
        "decode: rate (h200): window 2 repeats the samples of window 1 to the last digit; measure it again",
        "decode: rate (h200): window 3 repeats the samples of window 1 to the last digit; measure it again",
    ]
