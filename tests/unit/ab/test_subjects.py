from dataclasses import replace

import pytest

from guardrail.ab.comparison import Pair, Spoiled, Verdict
from guardrail.ab.decide import decide
from guardrail.ab.subjects import pairs_of, require_sound_subjects, window_plan
from guardrail.errors import UsageError
from helpers.subject_arms import SUBJECT, arm, plan, repeated, timed_window
from helpers.timing import OPERATION
from unit.ab.conftest import ACCEPT, VETO

THIRD = replace(
    OPERATION, arms=(*OPERATION.arms, replace(OPERATION.arms[1], name="third", launches=("copy_third",)))
)
CONTROL = arm("third", THIRD)
CONTROLLED = {"control_arms": (CONTROL,), "controls": (str(CONTROL),)}


def decided(terms, times):
    *_, found = decide(terms, pairs_of(terms, repeated(times)), 0.0, lambda: 0.0)
    return found


def test_a_window_times_both_arms_cold_and_hot_with_the_controls_beside_each():
    planned = window_plan(plan(metric="hot_span", relative_error=2e-3, **CONTROLLED))
    assert [(each.arm, each.cache) for each in planned.timed] == [
        ("short", "cold"), ("short", "hot"), ("third", "hot"),
        ("padded", "cold"), ("padded", "hot"), ("third", "hot"),
    ]  # fmt: skip
    assert [each.name for each in planned.timed[:4:3]] == ["A on small", "B on small"]
    assert planned.relative_error == 2e-3


def test_a_window_becomes_a_pair_of_runs():
    terms = plan(**CONTROLLED)
    first, second = pairs_of(terms, repeated([10, 4, 7, 9, 3, 7.1], most=2))
    assert isinstance(first, Pair)
    assert (first.number, first.first, second.number, second.first) == (1, "A", 2, "B")
    assert first.a.values == {
        "cold_time": 10, "cold_span": 10.5, "hot_time": 4, "hot_span": 4.5, f"{SUBJECT}:third": 7,
    }  # fmt: skip
    assert first.b.values[f"{SUBJECT}:third"] == 7.1
    assert set(first.a.units.values()) == {"us"}
    assert first.a.notes == {"seed": 7, "launches": "kernel_1", "registers": 33, "shared_bytes": 0}


def test_a_spoilt_window_is_no_pair():
    windows = [
        timed_window([1, 1, 1, 1], spoilers=("The GPU is hot.", "And more.")),
        timed_window([1, 1, 1, 1]),
    ]
    spoiled, pair = pairs_of(plan(), iter(windows))
    assert spoiled == Spoiled("The GPU is hot.")
    assert pair.number == 1


@pytest.mark.parametrize(
    ("times", "verdict", "reason"),
    [
        ([10, 4, 9.8, 4], Verdict.ACCEPT, "B/A is 0.9800 (0.9800 to 0.9800): B/A <= 0.996"),
        ([10, 4, 10.1, 4], Verdict.VETO, "B/A is 1.0100 (1.0100 to 1.0100): B/A >= 1.004"),
    ],
)
def test_the_judged_cache_state_alone_decides(times, verdict, reason):
    found = decided(plan(accept=ACCEPT, veto=VETO, beside=("hot_time",)), times)
    assert (found.verdict, found.reason) == (verdict, reason)
    assert [(each.metric, each.ratio) for each in found.beside] == [("hot_time", 1.0)]
    assert found.notes["B"]["launches"] == ("kernel_3",)


def test_a_control_that_is_slower_beside_b_leaves_it_undecided():
    found = decided(plan(accept=ACCEPT, veto=VETO, **CONTROLLED), [10, 4, 7, 9, 4, 7.7])
    assert found.verdict is Verdict.UNDECIDED
    assert found.reason == (
        f"B/A is 0.9000 (0.9000 to 0.9000), but a control moved: {SUBJECT}:third by 1.1000"
    )


def test_an_arm_compared_with_itself_is_accepted_where_its_times_are_equal():
    terms = plan(b=arm("short"), self_compare=True, pairs=10)
    require_sound_subjects(terms)
    found = decided(terms, [10, 4, 10, 4])
    assert (found.verdict, found.pairs, found.confidence) == (Verdict.ACCEPT, 10, 0.95)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"b": arm("short")}, "the arms are one and the same: equal sources, arm and case; --self-compare"),
        (
            {"self_compare": True, "accept": (), "veto": ()},
            "--self-compare compares an arm with itself, and these differ; leave --b and --b-case out",
        ),
        (
            {"b": arm("padded", case="large")},
            "the arms have different work: elements is 1000 in A, 100000 in B; only like can be compared",
        ),
        (
            {"control_arms": (arm("padded"),)},
            f"--control {SUBJECT}:padded: it is one of the compared arms; name one that must not move",
        ),
        (
            {"metric": "cold_tim"},
            "--metric cold_tim: an arm of an operation has no such metric; did you mean 'cold_time'?",
        ),
        ({"accept": ()}, "give --accept and --veto"),
        ({"pairs": 5}, "--pairs 5: too few for an interval"),
    ],
)
def test_what_cannot_be_compared_is_refused(changes, message):
    with pytest.raises(UsageError) as caught:
        require_sound_subjects(plan(**({"accept": ACCEPT, "veto": VETO} | changes)))
    assert str(caught.value).startswith(message)


def test_the_same_arm_of_other_sources_is_another_arm():
    other = replace(OPERATION, random="helpers.wrong_trials:unused")
    require_sound_subjects(plan(b=arm("short", other), accept=ACCEPT, veto=VETO))
