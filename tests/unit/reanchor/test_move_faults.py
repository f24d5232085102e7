from dataclasses import replace

import pytest

from guardrail.reanchor.facts import Facts
from guardrail.reanchor.move_faults import (
    CI_REFUSAL,
    correctness_faults,
    move_faults,
    notes,
    order_faults,
)
from guardrail.reanchor.order import Order
from guardrail.reanchor.prediction import parse_prediction
from guardrail.records.report import GuardResult
from guardrail.records.verdict import Status, Verdict
from helpers.anchors import TREE
from helpers.reports import report
from unit.reanchor.conftest import BOUND, FACTS, ORDER

FIX = Order("correctness-fix", "the tall rows are computed again")


def checked(status, probe="dispatch", digest="new"):
    verdicts = (Verdict(status, "x", "5 units were dropped"),)
    return GuardResult("gate", "t", probe, "s", 3, verdicts, subject_hash=digest)


@pytest.mark.parametrize("value", ["true", "1", "yes"])
def test_no_anchor_moves_in_ci(value):
    assert list(order_faults(ORDER, TREE, {"CI": value})) == [CI_REFUSAL]


@pytest.mark.parametrize(
    ("order", "tree", "fault"),
    [
        (ORDER, TREE, None),
        (replace(ORDER, reason="  "), TREE, "--reason is empty; say in a sentence why the number moves"),
        (ORDER, replace(TREE, dirty=True), "the tree is dirty; commit or stash the changes: an anchor names"),
        (ORDER, replace(TREE, commit=None, dirty=None), "the guards file is in no git checkout; make one:"),
    ],
)
def test_an_order_needs_a_reason_and_a_clean_checkout(order, tree, fault):
    found = list(order_faults(order, tree, {"CI": "false"}))
    assert [each[: len(fault or "")] for each in found] == ([fault] if fault else [])


@pytest.mark.parametrize("status", [Status.FAIL, Status.ERROR, Status.UNDECIDED])
def test_an_anchor_follows_a_correct_engine_only(status):
    facts = replace(FACTS, correctness=(checked(status),))
    assert list(correctness_faults(ORDER, facts)) == [
        f"gate (dispatch) is {status}: 5 units were dropped; an anchor may follow a correct engine only, so "
        "make it green first"
    ]


@pytest.mark.parametrize("status", [Status.PASS, Status.SKIPPED])
def test_green_guards_and_those_of_other_machines_do_not_stand_in_the_way(status):
    assert list(correctness_faults(ORDER, replace(FACTS, correctness=(checked(status),)))) == []


@pytest.mark.parametrize(
    ("before", "accepted"),
    [
        (checked(Status.FAIL, digest="old"), True),
        (checked(Status.PASS, digest="old"), False),
        (checked(Status.ERROR, digest="old"), False),
        (checked(Status.FAIL, digest="new"), False),
        (replace(checked(Status.FAIL, digest="old"), id="another"), False),
    ],
)
def test_a_fix_is_witnessed_by_a_guard_that_was_red_on_other_code(before, accepted):
    facts = Facts(TREE, {}, (checked(Status.PASS),), report(before))
    assert (list(correctness_faults(FIX, facts)) == []) is accepted
    assert facts.witnesses() == (("gate",) if accepted else ())


def test_a_numerics_guard_witnesses_no_fix():
    facts = Facts(
        TREE, {}, (checked(Status.PASS, "numerics"),), report(checked(Status.FAIL, "numerics", "old"))
    )
    assert facts.witnesses() == ()


def test_a_fix_without_a_witness_needs_a_reference():
    (fault,) = correctness_faults(FIX, FACTS)
    assert fault == (
        "class correctness-fix needs a dispatch or logits guard that was red before and is green now: give "
        "the report of a run from before the fix with --was-red, or refer to one with --ref"
    )
    assert list(correctness_faults(replace(FIX, ref="#5"), FACTS)) == []


@pytest.mark.parametrize(
    ("anchor_class", "side", "value", "refused"),
    [
        ("optimisation", "floor", 699.0, True),
        ("optimisation", "floor", 700.0, False),
        ("optimisation", "ceiling", 701.0, True),
        ("optimisation", "ceiling", 699.0, False),
        ("correctness-fix", "floor", 600.0, False),
        ("environment", "floor", 600.0, False),
        ("measurement", "floor", 600.0, False),
    ],
)
def test_an_optimisation_never_loosens_a_bound(series, anchor_class, side, value, refused):
    found = series(value, value, value, bound=BOUND | {"side": side})
    faults = list(move_faults(found, replace(ORDER, anchor_class=anchor_class), FACTS, ()))
    assert bool(faults) is refused
    assert all("is worse than the anchor of 700.0" in fault for fault in faults)


@pytest.mark.parametrize(
    ("anchor_class", "refused"),
    [("optimisation", True), ("correctness-fix", True), ("environment", False), ("measurement", False)],
)
def test_code_that_did_not_change_moved_no_number(series, anchor_class, refused):
    facts = replace(FACTS, old_hashes={"decode: rate (h200)": frozenset({"cafe"})})
    faults = list(move_faults(series(710.0), replace(ORDER, anchor_class=anchor_class), facts, ()))
    assert bool(faults) is refused
    assert all("byte for byte the one that the old number was measured on" in fault for fault in faults)


@pytest.mark.parametrize(
    ("predicted", "beside", "refused"),
    [("-2%", (), False), ("-9%", (), True), ("-2%", (686.0,), True), ("0%", (686.0,), False)],
)
def test_a_prediction_is_held_against_the_old_build_or_else_the_old_anchor(
    series, predicted, beside, refused
):
    order = replace(ORDER, predicted=parse_prediction(predicted))
    assert bool(list(move_faults(series(686.0), order, FACTS, beside))) is refused


def test_a_first_anchor_has_nothing_to_be_predicted_from(series):
    order = replace(ORDER, predicted=parse_prediction("-2%"))
    (fault,) = move_faults(series(700.0, bound={"slack": "2%"}), order, FACTS, ())
    assert fault == "decode: rate (h200): there is no old number to predict a change of; leave --predict out"


def test_a_file_without_correctness_guards_is_noted():
    assert len(list(notes(FACTS))) == 1
    assert list(notes(replace(FACTS, correctness=(checked(Status.PASS),)))) == []


def test_a_first_anchor_lowers_nothing(series):
    order = replace(ORDER, anchor_class="optimisation")
    assert list(move_faults(series(5.0, bound={"slack": "2%"}), order, FACTS, ())) == []
