from dataclasses import replace

import pytest

from guardrail.probes.dispatch import DispatchGuard, DispatchProbe
from guardrail.probes.interface import Context
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Done, Environment, Failed
from guardrail.spec.guards import Bound
from helpers.probing import answering, by_metric, measured, sentences
from helpers.toy_gate import GATE, LONG, MODULE, SHORT

CONTEXT = Context({model.name: model for model in (SHORT, LONG)}, None, interpreted=True)
LAUNCHED = {"tile": ["sum_tile"], "loop": ["sum_loop"]}


def good(task):
    """Answer a trial as a whole arm would."""
    units = task.arguments["case"]["n"]
    return Done(seen(units, LAUNCHED[task.arguments["arm"]]), 1.0)


def seen(units, launched, **wrong):
    return {
        "launched": launched,
        "elements": 2,
        "unwritten": 0,
        "units": units,
        "dropped": 0,
        "doubled": 0,
    } | wrong


def dispatch(expose=good, models=("short-model", "long-model"), **changes):
    gate = replace(GATE, **{key: f"{MODULE}:{name}" for key, name in changes.items()})
    guard = DispatchGuard(
        id="g", title="t", probe="dispatch", subject="toy.pick", models=list(models),
        require={"dropped_units": Bound(equals=0)},
    )  # fmt: skip
    return measured(DispatchProbe(), guard, gate, CONTEXT, answering({"expose": expose}))


def at(n, **wrong):
    """Answer one case as told and every other as a whole arm would."""

    def expose(task):
        outcome = good(task)
        return (
            Done(outcome.value | wrong, 1.0) if task.arguments["case"] == {"n": n, "wide": True} else outcome
        )

    return expose


def test_a_whole_gate_measures_zero_of_everything():
    found, _ = dispatch()
    assert {name: (item.value, item.inspected) for name, item in by_metric(found).items()} == {
        "uncovered_units": (0, 24),
        "unexplained_cases": (0, 24),
        "undeclared_cases": (0, 24),
        "arms_never_taken": (0, 24),
        "dropped_units": (0, 7),
        "doubled_units": (0, 7),
        "unwritten_outputs": (0, 7),
        "arms_not_reached": (0, 7),
    }
    assert all(item.findings == () for item in found)
    assert {item.metric: item.unit for item in found} == {
        metric.name: metric.unit for metric in DispatchProbe.metrics
    }


def test_the_survey_runs_on_the_host_and_the_arms_where_kernels_run():
    _, (surveys, runs) = dispatch()
    assert [(task.function, task.environment) for task in surveys] == [
        ("guardrail.probes.gate_survey:survey", Environment.HOST)
    ]
    assert {(task.function, task.environment) for task in runs} == {
        ("guardrail.adapters.trials:expose", Environment.EXECUTE)
    }
    assert surveys[0].modules == runs[0].modules == (MODULE,)
    cases = [(task.arguments["case"]["n"], task.arguments["arm"]) for task in runs]
    assert (8, "tile") in cases and (9, "loop") in cases


def test_declared_work_that_is_left_out_names_shape_arm_share_and_models():
    found, _ = dispatch(pick="pick_beyond_the_tile")
    uncovered = by_metric(found)["uncovered_units"]
    assert uncovered.value == 1 + 2 + 3 + 4
    assert sentences(uncovered) == [
        "n 11, wide, arm tile: 3 of 11 units dropped (27.3%), models long-model; short-model untouched",
        "n 9, wide, arm tile: 1 of 9 units dropped (11.1%)",
        "and 2 more in the gate's domain (n 10, wide to n 12, wide)",
    ]
    assert uncovered.findings[0].models == ("long-model",)


def test_without_models_only_the_domain_is_named():
    found, _ = dispatch(pick="pick_beyond_the_tile", models=())
    assert (
        sentences(by_metric(found)["uncovered_units"])[0]
        == "n 9, wide, arm tile: 1 of 9 units dropped (11.1%)"
    )


def test_executed_work_that_is_left_out_names_shape_arm_share_and_models():
    dropped = by_metric(dispatch(at(11, dropped=4))[0])["dropped_units"]
    assert (dropped.value, dropped.inspected) == (4, 7)
    assert sentences(dropped) == [
        "n 11, wide, arm loop: 4 of 11 units dropped when executed (36.4%), models long-model; "
        "short-model untouched"
    ]


def test_a_fault_that_touches_every_model_leaves_none_untouched():
    twin = replace(LONG, name="short-model")
    context = {"short-model": twin, "long-model": LONG}
    guard = DispatchGuard(id="g", title="t", probe="dispatch", subject="s", models=list(context),
                          require={"dropped_units": Bound(equals=0)})  # fmt: skip
    found, _ = measured(
        DispatchProbe(), guard, GATE, Context(context, None, True), answering({"expose": at(11, doubled=2)})
    )
    assert sentences(by_metric(found)["doubled_units"]) == [
        "n 11, wide, arm loop: 2 of 11 units done twice when executed (18.2%), models short-model, long-model"
    ]


def test_unwritten_outputs_are_counted_in_elements():
    unwritten = by_metric(dispatch(at(9, unwritten=2))[0])["unwritten_outputs"]
    assert (unwritten.value, sentences(unwritten)) == (
        2,
        ["n 9, wide, arm loop: 2 of 2 output elements unwritten"],
    )


@pytest.mark.parametrize(
    ("launched", "said"),
    [([], "nothing"), (["sum_tile"], "sum_tile"), (["sum_loop"] * 2, "sum_loop + sum_loop")],
)
def test_an_arm_that_launches_other_kernels_was_not_reached(launched, said):
    astray = by_metric(dispatch(at(9, launched=launched))[0])["arms_not_reached"]
    assert (astray.value, sentences(astray)) == (1, [f"n 9, wide, arm loop: launched {said}, not sum_loop"])


def test_other_declared_faults_have_sentences_of_their_own():
    found = by_metric(dispatch(pick="pick_short_of_the_tile")[0])
    assert found["unexplained_cases"].value == 2
    assert sentences(found["unexplained_cases"]) == [
        "n 8, wide, arm loop: the faster tile covers it and no reason is stated, models short-model; "
        "long-model untouched",
        "n 8, not wide, arm loop: the faster tile covers it and no reason is stated",
    ]
    found = by_metric(dispatch(pick="pick_loop")[0])
    assert sentences(found["arms_never_taken"]) == ["arm tile is taken for none of 24 cases"]
    found = by_metric(dispatch(domain="short_domain")[0])
    assert sentences(found["undeclared_cases"]) == [
        "n 11, wide is not in the gate's domain, models long-model; short-model untouched"
    ]


def test_two_further_cases_are_summed_up_without_a_span():
    def expose(task):
        case = task.arguments["case"]
        return Done(good(task).value | {"dropped": int(case["n"] in (8, 9) and case["wide"])}, 1.0)

    assert sentences(by_metric(dispatch(expose, models=())[0])["dropped_units"]) == [
        "n 8, wide, arm tile: 1 of 8 units dropped when executed (12.5%)",
        "and 1 more in the gate's domain (n 9, wide)",
    ]


def test_a_trial_that_fails_is_unmeasured_and_the_others_count():
    def expose(task):
        return Failed("the worker died") if task.arguments["case"]["n"] == 11 else good(task)

    found, _ = dispatch(expose)
    assert [item for item in found if isinstance(item, Unmeasured)] == [
        Unmeasured("the worker died", {"case": "n 11, wide", "arm": "loop"})
    ]
    counts = [
        item.inspected for item in found if isinstance(item, Measurement) and item.metric == "dropped_units"
    ]
    assert counts == [6]


def test_a_survey_that_fails_is_all_there_is():
    found, rounds = dispatch(domain="empty_domain")
    assert found == [Unmeasured(f"gate pick: its domain {MODULE}:empty_domain has no cases")]
    assert len(rounds) == 1
