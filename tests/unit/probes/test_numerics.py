from dataclasses import replace

from guardrail.probes.interface import Context
from guardrail.probes.numerics import NumericsGuard, NumericsProbe
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Done, Environment, Failed
from guardrail.spec.guards import Bound
from helpers.probing import answering, measured, sentences
from helpers.toy_gate import MODULE, OPERATION

LAUNCHED = {"tile": ["sum_tile"], "loop": ["sum_loop"]}


def result(arm, arms, **wrong):
    differing = {"loop": 0} if arm == "tile" and "loop" in arms else {}
    fine = {"launched": LAUNCHED[arm], "elements": 4, "unwritten": 0, "nonfinite": 0, "relative_error": 0.0}
    return fine | {"differing": differing} | wrong


def answer(**wrong_by_place):
    """Answer trials; ``tile_3`` holds what is wrong with arm tile at n 3."""

    def compare(task):
        arms, n = task.arguments["arms"], task.arguments["case"]["n"]
        return Done({arm: result(arm, arms, **wrong_by_place.get(f"{arm}_{n}", {})) for arm in arms}, 1.0)

    return compare


def numerics(compare, operation=OPERATION, seeds=1, seed=0):
    guard = NumericsGuard(
        id="g", title="t", probe="numerics", subject="toy.sum", seeds=seeds,
        require={"relative_error": Bound(ceiling=1e-6)},
    )  # fmt: skip
    context = Context({}, None, interpreted=True, seed=seed)
    return measured(NumericsProbe(), guard, operation, context, answering({"compare": compare}))


def by_place(found):
    return {(m.metric, m.where["arm"]): m for m in found if isinstance(m, Measurement)}


def test_every_arm_is_measured_on_the_cases_that_it_covers():
    found, (_, runs) = numerics(answer())
    assert [(task.arguments["case"]["n"], task.arguments["arms"]) for task in runs] == [
        (3, ["tile", "loop"]),
        (10, ["loop"]),
    ]
    assert {place: (m.value, m.inspected) for place, m in by_place(found).items()} == {
        ("relative_error", "tile"): (0.0, 1),
        ("unwritten_outputs", "tile"): (0, 1),
        ("nonfinite_outputs", "tile"): (0, 1),
        ("differing_elements", "tile and loop"): (0, 1),
        ("relative_error", "loop"): (0.0, 2),
        ("unwritten_outputs", "loop"): (0, 2),
        ("nonfinite_outputs", "loop"): (0, 2),
    }


def test_arms_run_where_kernels_run_and_depend_on_the_operation_s_modules():
    _, (covering, runs) = numerics(answer())
    assert [task.environment for task in (*covering, *runs)] == [
        Environment.HOST,
        Environment.EXECUTE,
        Environment.EXECUTE,
    ]
    assert {task.modules for task in runs} == {(MODULE,)}


def test_each_case_is_run_on_each_seed():
    _, (_, runs) = numerics(answer(), seeds=2, seed=40)
    assert [(task.arguments["case"]["n"], task.arguments["seed"]) for task in runs] == [
        (3, 40),
        (3, 41),
        (10, 40),
        (10, 41),
    ]


def test_the_largest_error_is_the_arm_s_and_names_its_case():
    found, _ = numerics(answer(loop_3={"relative_error": 1e-7}, loop_10={"relative_error": 3e-7}))
    worst = by_place(found)["relative_error", "loop"]
    assert (worst.value, sentences(worst)) == (3e-7, ["worst at n 10, wide True, seed 0"])


def test_an_error_that_is_not_a_number_is_worse_than_any():
    found, _ = numerics(answer(loop_3={"relative_error": None}, loop_10={"relative_error": 1.0}))
    worst = by_place(found)["relative_error", "loop"]
    assert (worst.value, sentences(worst)) == (None, ["n 3, wide True, seed 0: the error is not a number"])


def test_counts_are_summed_and_each_run_that_counts_is_named():
    found, _ = numerics(answer(loop_3={"unwritten": 1, "nonfinite": 2}, loop_10={"unwritten": 3},
                               tile_3={"differing": {"loop": 4}}))  # fmt: skip
    places = by_place(found)
    assert places["unwritten_outputs", "loop"].value == 4
    assert sentences(places["unwritten_outputs", "loop"]) == [
        "n 3, wide True, seed 0: 1 of 4 elements",
        "n 10, wide True, seed 0: 3 of 4 elements",
    ]
    assert places["nonfinite_outputs", "loop"].value == 2
    assert places["differing_elements", "tile and loop"].value == 4


def test_an_arm_that_launches_other_kernels_is_unmeasured():
    found, _ = numerics(answer(tile_3={"launched": ["sum_loop"]}))
    assert [item for item in found if isinstance(item, Unmeasured)] == [
        Unmeasured(
            "launched ['sum_loop'], not ['sum_tile']", {"case": "n 3, wide True, seed 0", "arm": "tile"}
        )
    ]


def test_a_run_that_fails_is_unmeasured_and_inspects_nothing():
    found, _ = numerics(lambda task: Failed("out of memory"))
    assert [item for item in found if isinstance(item, Unmeasured)] == [
        Unmeasured("out of memory", {"case": "n 3, wide True, seed 0"}),
        Unmeasured("out of memory", {"case": "n 10, wide True, seed 0"}),
    ]
    assert {measurement.inspected for measurement in by_place(found).values()} == {0}


def test_an_operation_without_cases_inspects_nothing():
    found, _ = numerics(answer(), replace(OPERATION, cases=()))
    assert {measurement.inspected for measurement in by_place(found).values()} == {0}
    assert by_place(found)["relative_error", "tile"].value is None


def test_an_operation_without_twins_measures_no_difference():
    found, _ = numerics(answer(), replace(OPERATION, same_bits=()))
    assert "differing_elements" not in {metric for metric, _ in by_place(found)}


def test_coverage_that_cannot_be_asked_is_all_there_is():
    found, rounds = numerics(answer(), replace(OPERATION, units=f"{MODULE}:gone"))
    assert found == [Unmeasured(f"{MODULE}:gone: {MODULE} has no gone")]
    assert len(rounds) == 1
