import math

import pytest

from guardrail.records.measurement import Finding, Measurement, Unmeasured
from guardrail.records.verdict import Status
from guardrail.rules.bounds import judge
from helpers.fakes import loaded_guard


def one(bound, value, **fields):
    loaded = loaded_guard({"spill_bytes": bound})
    (verdict,) = judge(loaded, [Measurement("spill_bytes", "bytes", value, **fields)])
    return verdict


@pytest.mark.parametrize(
    ("bound", "value", "status", "code", "sentence", "words", "excess"),
    [
        ({"equals": 8}, 8, "pass", "holds", "spill_bytes is 8 bytes, exactly 8", "exactly 8", None),
        ({"equals": 8}, 9, "fail", "not-equals", "spill_bytes is 9 bytes, must be exactly 8", "exactly 8", 1),
        ({"equals": 8}, 5, "fail", "not-equals", "spill_bytes is 5 bytes, must be exactly 8", "exactly 8", 3),
        ({"floor": 8}, 8, "pass", "holds", "spill_bytes is 8 bytes, at least 8", "at least 8", None),
        ({"floor": 8}, 6, "fail", "beyond-floor", "spill_bytes is 6 bytes, must be at least 8",
         "at least 8", 2),
        ({"ceiling": 8}, 8, "pass", "holds", "spill_bytes is 8 bytes, at most 8", "at most 8", None),
        (
            {"ceiling": 8},
            12,
            "fail",
            "beyond-ceiling",
            "spill_bytes is 12 bytes, must be at most 8",
            "at most 8",
            4,
        ),
        (
            {"floor": 2, "ceiling": 8},
            5,
            "pass",
            "holds",
            "spill_bytes is 5 bytes, at least 2 and at most 8",
            "at least 2 and at most 8",
            None,
        ),
        (
            {"floor": 2, "ceiling": 8},
            9,
            "fail",
            "beyond-ceiling",
            "spill_bytes is 9 bytes, must be at most 8",
            "at least 2 and at most 8",
            1,
        ),
        ({"ceiling": 0.25}, 0.75, "fail", "beyond-ceiling", "spill_bytes is 0.75 bytes, must be at most 0.25",
         "at most 0.25", 0.5),
    ],
)  # fmt: skip
def test_a_bound_decides(bound, value, status, code, sentence, words, excess):
    verdict = one(bound, value)
    assert (verdict.status, verdict.code, verdict.sentence) == (status, code, sentence)
    assert (verdict.bound, verdict.excess, verdict.measured) == (words, excess, value)
    assert (verdict.metric, verdict.unit, verdict.line) == ("spill_bytes", "bytes", 8)


@pytest.mark.parametrize(
    ("value", "interval", "said"),
    [
        (None, None, "not known"),
        (math.nan, None, "nan, not a finite number"),
        (math.inf, None, "inf, not a finite number"),
        (-math.inf, None, "-inf, not a finite number"),
        (3.0, (math.nan, math.nan), "3.0 (nan to nan), not a finite number"),
        (3.0, (1.0, math.inf), "3.0 (1.0 to inf), not a finite number"),
    ],
)
@pytest.mark.parametrize("bound", [{"equals": 3}, {"floor": 0}, {"ceiling": 9}])
def test_what_is_no_finite_number_never_passes(bound, value, interval, said):
    verdict = one(bound, value, interval=interval)
    assert (verdict.status, verdict.code) == (Status.ERROR, "not-a-number")
    assert verdict.sentence == f"spill_bytes is {said}, must be {verdict.bound}"


def test_a_whole_number_beyond_every_float_is_a_number():
    assert one({"ceiling": 5}, 10**400).excess == 10**400 - 5


def test_nothing_inspected_is_an_error_whatever_the_value():
    verdict = one({"equals": 0}, 0, inspected=0)
    assert (verdict.status, verdict.code) == (Status.ERROR, "nothing-inspected")
    assert verdict.sentence == "spill_bytes: nothing was inspected"


@pytest.mark.parametrize(
    ("bound", "interval", "status", "excess"),
    [
        ({"floor": 10}, (11.0, 13.0), Status.PASS, None),
        ({"floor": 10}, (10.0, 13.0), Status.PASS, None),
        ({"floor": 10}, (9.0, 13.0), Status.UNDECIDED, None),
        ({"floor": 10}, (7.0, 9.5), Status.FAIL, 0.5),
        ({"ceiling": 10}, (8.0, 10.0), Status.PASS, None),
        ({"ceiling": 10}, (8.0, 12.0), Status.UNDECIDED, None),
        ({"ceiling": 10}, (11.0, 12.0), Status.FAIL, 1.0),
        ({"equals": 10}, (10.0, 10.0), Status.PASS, None),
        ({"equals": 10}, (9.0, 11.0), Status.UNDECIDED, None),
        ({"floor": 10, "ceiling": 20}, (9.0, 21.0), Status.UNDECIDED, None),
    ],
)
def test_only_an_interval_wholly_on_one_side_decides(bound, interval, status, excess):
    verdict = one(bound, sum(interval) / 2, interval=interval)
    assert (verdict.status, verdict.excess) == (status, excess)


def test_an_undecided_sentence_names_the_noise():
    verdict = one({"floor": 10}, 11.0, interval=(9.0, 13.0))
    assert verdict.code == "within-noise"
    assert verdict.sentence == "spill_bytes is 11 bytes, within noise (9 to 13) of the bound at least 10"


def test_a_keyed_bound_is_found_by_what_was_measured():
    loaded = loaded_guard({"blocks": {"floor": {"sm_86": 2, "sm_90": 3}}})
    measured = [
        Measurement("blocks", "blocks", 2, {"build": "h128", "arch": arch}) for arch in ("sm_86", "sm_90")
    ]
    good, bad = judge(loaded, measured)
    assert (good.status, good.sentence) == (Status.PASS, "blocks (h128, sm_86) is 2 blocks, at least 2")
    assert (bad.status, bad.sentence) == (Status.FAIL, "blocks (h128, sm_90) is 2 blocks, must be at least 3")
    assert bad.where == {"build": "h128", "arch": "sm_90"}


@pytest.mark.parametrize("bound", [{"floor": {"sm_86": 2}}, {"floor": {"sm_86": 2}, "ceiling": 8}])
def test_a_measurement_that_a_keyed_bound_leaves_out_is_an_error(bound):
    verdict = one(bound, 3, where={"arch": "sm_90"})
    assert (verdict.status, verdict.code) == (Status.ERROR, "no-bound")
    assert verdict.sentence == "spill_bytes (sm_90) has no bound: the bound is keyed by sm_86"


def test_a_changed_toolchain_comes_first_in_the_sentence_of_a_failure_only():
    changed = "triton 3.7.1 -> 3.9.0"
    assert (
        one({"ceiling": 0}, 4, changed=changed).sentence
        == "triton 3.7.1 -> 3.9.0: spill_bytes is 4 bytes, must be at most 0"
    )
    assert one({"ceiling": 0}, 0, changed=changed).sentence == "spill_bytes is 0 bytes, at most 0"


def test_findings_become_evidence():
    verdict = one({"ceiling": 0}, 4, findings=(Finding("build a spills 4 B"), Finding("build b spills 0 B")))
    assert verdict.evidence == ("build a spills 4 B", "build b spills 0 B")


TWO = {"dropped": {"equals": 0}, "doubled": {"equals": 0}}


def statuses(measured, require=TWO):
    return [
        (verdict.status, verdict.code, verdict.sentence, verdict.line)
        for verdict in judge(loaded_guard(require), measured)
    ]


def test_a_metric_that_was_never_measured_is_an_error_beside_one_that_was():
    assert statuses([Measurement("dropped", "units", 0)]) == [
        (Status.PASS, "holds", "dropped is 0 units, exactly 0", 8),
        (Status.ERROR, "not-measured", "doubled was not measured", 9),
    ]


def test_a_metric_that_was_never_measured_is_an_error_beside_a_part_that_was_skipped():
    measured = [Measurement("dropped", "units", 0), Unmeasured("another machine", skipped=True)]
    assert (Status.ERROR, "not-measured", "doubled was not measured", 9) in statuses(measured)


def test_nothing_measured_at_all_is_an_error_for_each_bound():
    assert statuses([]) == [
        (Status.ERROR, "not-measured", "dropped was not measured", 8),
        (Status.ERROR, "not-measured", "doubled was not measured", 9),
    ]


def test_a_guard_that_could_not_be_measured_says_why_once():
    assert statuses([Unmeasured("the gate has no cases")]) == [
        (Status.ERROR, "not-measured", "the gate has no cases", 3)
    ]


def test_a_guard_for_another_machine_is_skipped():
    assert statuses([Unmeasured("not for sm_86", {"arch": "sm_86"}, skipped=True)]) == [
        (Status.SKIPPED, "not-for-this-machine", "not for sm_86", 3)
    ]


def test_measurements_that_no_bound_asks_for_are_not_judged():
    measured = [Measurement("dropped", "units", 0), Measurement("doubled", "units", 9)]
    assert [line for *_, line in statuses(measured, {"dropped": {"equals": 0}})] == [8]


def test_a_reason_that_concerns_several_places_is_said_once():
    measured = [
        Unmeasured("triton is not installed", {"build": "a", "arch": arch}) for arch in ("sm_86", "sm_90")
    ]
    (verdict,) = judge(loaded_guard({"spill_bytes": {"equals": 0}}), measured)
    assert (verdict.status, verdict.sentence) == (Status.ERROR, "triton is not installed")
    assert (dict(verdict.where), verdict.evidence) == ({}, ("a, sm_86", "a, sm_90"))
