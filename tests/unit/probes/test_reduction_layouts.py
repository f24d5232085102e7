from dataclasses import asdict, replace

import pytest

from guardrail.compiled.reductions import Reduction
from guardrail.families import Build, Twin, Twins
from guardrail.probes.interface import Context
from guardrail.probes.reduction_layouts import ReductionLayoutsGuard, ReductionLayoutsProbe
from guardrail.records.measurement import Unmeasured
from guardrail.records.task import Done, Environment, Failed
from guardrail.spec.guards import Bound
from helpers.probing import answering, by_metric, measured, sentences

CONTEXT = Context({}, None, interpreted=True)
SUM = Reduction(1, ("arith.addf",), (1, 256), "f32", "in four warps")
PAIR = Reduction(1, ("arith.addf",), (1, 2, 8), "f32", "in four warps")
INTEGER = Reduction(2, ("arith.addi",), (1, 256, 4), "i32", "in four warps")


def compared(first, second, archs=("sm_90",)):
    """Compare two builds that compile to given reductions."""
    builds = {"first": first, "second": second}
    twins = Twins("twins", tuple(Twin(f"m:{name}", Build(name, {}, {})) for name in builds))
    guard = ReductionLayoutsGuard(
        id="g",
        title="t",
        probe="reduction_layouts",
        subject="f.twins",
        archs=list(archs),
        require={"differing_reduction_layouts": Bound(equals=0)},
    )

    def answer(task):
        found = builds[task.arguments["build"].name]
        return found if isinstance(found, Failed) else Done([asdict(item) for item in found], 0.1)

    found, rounds = measured(
        ReductionLayoutsProbe(), guard, twins, CONTEXT, answering({"read_reductions": answer})
    )
    return found, rounds


def differing(first, second):
    return by_metric(compared(first, second)[0])["differing_reduction_layouts"]


def test_equal_sums_differ_in_nothing():
    found = differing([SUM, PAIR], [SUM, PAIR])
    assert (found.value, found.inspected, found.findings) == (0, 4, ())
    assert found.where == {"kernel": "second", "build": "second", "arch": "sm_90"}


def test_a_sum_of_many_numbers_in_another_layout_is_counted_and_shown():
    found = differing([PAIR, SUM], [PAIR, replace(SUM, layout="in eight warps")])
    assert found.value == 1
    assert sentences(found) == ["sum 1 is over in eight warps, that of first over in four warps"]


@pytest.mark.parametrize(
    ("other", "value"),
    [
        (replace(PAIR, layout="in eight warps"), 0),
        (replace(PAIR, shape=(1, 2, 4)), 1),
        (replace(PAIR, element="f16"), 1),
    ],
)
def test_the_layout_of_two_numbers_does_not_matter_but_which_ones_they_are_does(other, value):
    assert differing([PAIR], [other]).value == value


def test_integers_may_be_added_in_any_order():
    assert differing([INTEGER, PAIR], [replace(INTEGER, layout="elsewhere"), INTEGER, PAIR]).value == 0


def test_a_missing_sum_is_counted():
    found = differing([PAIR, PAIR], [PAIR])
    assert found.value == 1
    assert sentences(found) == ["1 sums, first has 2"]


def test_kernels_without_such_sums_are_not_inspected():
    assert differing([INTEGER], [INTEGER]).inspected == 0


def test_every_architecture_is_compared_with_its_own_first():
    found, (tasks,) = compared([SUM], [SUM], archs=("sm_86", "sm_90"))
    assert [item.where["arch"] for item in found] == ["sm_86", "sm_90"]
    assert [task.arguments["arch"] for task in tasks] == ["sm_86", "sm_86", "sm_90", "sm_90"]
    assert {task.environment for task in tasks} == {Environment.COMPILE}
    assert tasks[0].modules == ("m",)


def test_a_build_that_does_not_compile_is_unmeasured():
    found, _ = compared([SUM], Failed("does not compile"))
    assert found == [Unmeasured("does not compile", {"kernel": "second", "build": "second", "arch": "sm_90"})]
