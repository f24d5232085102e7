from dataclasses import replace

import pytest

from guardrail.errors import MeasurementError
from guardrail.probes.gate_survey import survey
from helpers.toy_gate import GATE, LONG, MODULE, SHORT


def gate(**changes):
    return replace(GATE, **{key: f"{MODULE}:{name}" for key, name in changes.items()})


def labels(rows):
    return [(row["label"], row["arm"]) for row in rows]


def test_a_whole_gate_has_nothing_to_report():
    found = survey(GATE, [SHORT, LONG], interpreted=False)
    assert {
        key: found[key]
        for key in ("cases", "models", "uncovered", "unexplained", "never_taken", "undeclared")
    } == {
        "cases": 24,
        "models": ["short-model", "long-model"],
        "uncovered": [],
        "unexplained": [],
        "never_taken": [],
        "undeclared": [],
    }


def test_both_sides_of_each_bound_the_ends_and_the_models_cases_are_run():
    found = survey(GATE, [LONG], interpreted=False)
    assert labels(found["runs"]) == [
        ("n 11, wide", "loop"),
        ("n 1, wide", "tile"),
        ("n 12, not wide", "loop"),
        ("n 8, wide", "tile"),
        ("n 9, wide", "loop"),
        ("n 8, not wide", "loop"),
        ("n 9, not wide", "loop"),
    ]


def test_the_bound_of_what_an_arm_covers_is_run_though_the_gate_does_not_see_it():
    found = survey(gate(pick="pick_beyond_the_tile"), [], interpreted=False)
    assert {("n 8, wide", "tile"), ("n 9, wide", "tile")} <= set(labels(found["runs"]))


def test_a_bound_where_only_the_picked_arm_changes_is_run():
    found = survey(gate(pick="pick_short_of_the_tile"), [], interpreted=False)
    assert {("n 7, wide", "tile"), ("n 8, wide", "loop")} <= set(labels(found["runs"]))


def test_cases_too_large_for_the_interpreter_are_left_out_of_its_runs():
    found = survey(gate(executed="small"), [LONG], interpreted=True)
    assert labels(found["runs"]) == [("n 1, wide", "tile"), ("n 8, wide", "tile"), ("n 8, not wide", "loop")]
    assert len(survey(gate(executed="small"), [LONG], interpreted=False)["runs"]) == 7


def test_uncovered_cases_come_with_their_shares_and_models():
    found = survey(gate(pick="pick_beyond_the_tile"), [SHORT, LONG], interpreted=False)
    rows = [(row["label"], row["units"], row["covered"], row["models"]) for row in found["uncovered"]]
    assert rows == [
        ("n 9, wide", 9, 8, ()),
        ("n 10, wide", 10, 8, ()),
        ("n 11, wide", 11, 8, ("long-model",)),
        ("n 12, wide", 12, 8, ()),
    ]


def test_a_slower_arm_without_a_reason_is_unexplained():
    found = survey(gate(pick="pick_short_of_the_tile"), [], interpreted=False)
    assert [(row["label"], row["arm"], row["faster"]) for row in found["unexplained"]] == [
        ("n 8, wide", "loop", "tile"),
        ("n 8, not wide", "loop", "tile"),
    ]


def test_an_arm_that_is_never_taken_is_named():
    assert survey(gate(pick="pick_loop"), [], interpreted=False)["never_taken"] == ["tile"]


def test_a_model_s_case_outside_the_domain_is_surveyed_and_run():
    found = survey(gate(domain="short_domain"), [LONG], interpreted=False)
    assert labels(found["undeclared"]) == [("n 11, wide", "loop")]
    assert found["cases"] == 17
    assert ("n 11, wide", "loop") in labels(found["runs"])


def test_two_models_that_need_one_case_share_it():
    twin = replace(LONG, name="twin")
    (row,) = survey(gate(domain="short_domain"), [LONG, twin, LONG], interpreted=False)["undeclared"]
    assert row["models"] == ("long-model", "twin")


def test_an_empty_domain_is_an_error():
    with pytest.raises(MeasurementError, match=f"^gate pick: its domain {MODULE}:empty_domain has no cases$"):
        survey(gate(domain="empty_domain"), [], interpreted=False)


def test_an_arm_that_the_operation_does_not_have_is_an_error():
    with pytest.raises(
        MeasurementError, match=r"^gate pick picks 'spiral', which is none of its arms \(tile, loop\)$"
    ):
        survey(gate(pick="pick_unknown"), [], interpreted=False)


@pytest.mark.parametrize(
    ("pick", "message"),
    [
        (f"{MODULE}:gone", f"{MODULE}:gone: {MODULE} has no gone"),
        ("no_such_module:pick", "no_such_module:pick: cannot import no_such_module"),
    ],
)
def test_a_reference_to_nothing_is_an_error(pick, message):
    with pytest.raises(MeasurementError, match=f"^{message}"):
        survey(replace(GATE, pick=pick), [], interpreted=False)
