from dataclasses import replace

import pytest

from guardrail.probes.capacity import CapacityGuard, CapacityProbe
from guardrail.probes.interface import Context
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Environment
from guardrail.spec.guards import Bound
from helpers.probing import by_metric, measured, sentences
from helpers.toy_gate import LONG, MODULE, PLAN, SHORT

CONTEXT = Context({model.name: model for model in (SHORT, LONG)}, None, interpreted=True)


def capacity(models=(), **changes):
    plan = replace(PLAN, **{key: f"{MODULE}:{name}" for key, name in changes.items()})
    guard = CapacityGuard(id="g", title="t", probe="capacity", subject="toy.scratch", models=list(models),
                          require={"violations": Bound(equals=0)})  # fmt: skip
    return measured(CapacityProbe(), guard, plan, CONTEXT)


def test_a_plan_that_holds_every_batch_has_no_violations():
    found, ((violations, sizes),) = capacity()
    assert found == [Measurement("violations", "batches", 0, inspected=7)]
    assert violations.environment is sizes.environment is Environment.HOST
    assert violations.modules == (MODULE,)


def test_violations_are_counted_and_the_first_are_shown():
    found, _ = capacity(capacity="capacity_of_two")
    violations = by_metric(found)["violations"]
    assert (violations.value, violations.inspected) == (7, 7)
    assert sentences(violations) == [
        "sequences 1: batch 1 needs 3 rows of 2",
        "sequences 2: batch 1 needs 3 rows of 2",
        "sequences 2: batch 2 needs 6 rows of 2",
        "7 of 7 batches over 3 configurations",
    ]


def test_a_plan_without_configurations_inspects_nothing():
    found, _ = capacity(configurations="no_configurations")
    assert by_metric(found)["violations"].inspected == 0


def test_the_size_of_a_row_is_measured_for_each_model():
    found, _ = capacity(models=("short-model", "long-model"))
    assert [(item.value, item.where) for item in found if item.metric == "row_bytes"] == [
        (16, {"model": "short-model"}),
        (32, {"model": "long-model"}),
    ]


@pytest.mark.parametrize("part", ["configurations", "row_bytes"])
def test_a_part_that_fails_is_all_there_is(part):
    found, _ = capacity(**{part: "gone"})
    assert found == [Unmeasured(f"{MODULE}:gone: {MODULE} has no gone")]
