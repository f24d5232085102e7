from dataclasses import dataclass, field

import pytest
import torch

from guardrail.adapters import trials
from guardrail.errors import MeasurementError
from guardrail.families import Arm, Operation

UNITS = 4
MODULE = __name__


def units(case):
    return case["n"]


@dataclass
class CountingTrial:
    """Each output element is one work unit, and counts how often it was computed."""

    counts: list[list[float]]
    dtype: torch.dtype = torch.float32
    outputs: list[torch.Tensor] = field(init=False)
    scratch: list[torch.Tensor] = field(default_factory=list)

    def __post_init__(self):
        self.outputs = [torch.zeros(len(row), dtype=self.dtype) for row in self.counts]

    def launch(self, arm):
        for output, row in zip(self.outputs, self.counts, strict=True):
            for at, count in enumerate(row):
                if count is not None:
                    output[at] = count

    def unit_counts(self):
        return [torch.nan_to_num(output.double()).long().tolist() for output in self.outputs]


COUNTS: dict[str, list] = {}


def exposing(case, device):
    return CountingTrial(COUNTS[case["counts"]])


def expose(counts, n=UNITS):
    COUNTS["now"] = counts
    operation = Operation("sum", "unit", (Arm("only", (), f"{MODULE}:units"),), f"{MODULE}:units",
                          f"{MODULE}:exposing", f"{MODULE}:random")  # fmt: skip
    return trials.expose(operation, {"n": n, "counts": "now"}, "only")


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Let references find this module by the name that pytest gives it."""
    import sys

    monkeypatch.setitem(sys.modules, MODULE, sys.modules[__name__])


def test_work_done_once_is_neither_dropped_nor_doubled_nor_unwritten():
    assert expose([[1, 1, 1, 1]]) == {
        "launched": [],
        "elements": 4,
        "unwritten": 0,
        "units": 4,
        "dropped": 0,
        "doubled": 0,
    }


def test_dropped_doubled_and_unwritten_work_is_counted():
    found = expose([[1, None, 0, 2]])
    assert (found["dropped"], found["doubled"], found["unwritten"]) == (2, 1, 1)


def test_dropped_and_doubled_work_is_that_of_the_group_where_each_is_worst():
    found = expose([[0, 0, 0, 1], [2, 2, 1, 1], [1, 1, 1, 1]])
    assert (found["units"], found["dropped"], found["doubled"], found["elements"]) == (4, 3, 2, 12)


def test_a_group_may_have_fewer_units_than_its_case():
    assert expose([[1, 1], [1, 1, 1, 1]])["units"] == 4


@pytest.mark.parametrize(("counts", "exposed"), [([[1, 1]], 2), ([[1] * 5], 5)])
def test_a_trial_that_does_not_expose_every_unit_is_refused(counts, exposed):
    with pytest.raises(MeasurementError, match=f"exposes {exposed} of 4 work units$"):
        expose(counts)


def test_a_trial_of_no_units_is_refused():
    with pytest.raises(MeasurementError, match="the trial has no outputs"):
        expose([], n=0)
    with pytest.raises(MeasurementError, match="the trial has no outputs"):
        expose([[]], n=0)


def test_an_operation_without_an_exposing_trial_is_refused():
    operation = Operation("sum", "unit", (), f"{MODULE}:units", None, f"{MODULE}:random")
    with pytest.raises(MeasurementError, match=r"^operation sum states no exposing trial"):
        trials.expose(operation, {"n": 4}, "only")


@dataclass
class PlannedTrial:
    """Writes what the case plans for the arm, and compares with the plan's reference."""

    plan: dict
    outputs: list[torch.Tensor] = field(init=False)
    scratch: list[torch.Tensor] = field(init=False)

    def __post_init__(self):
        self.outputs = [torch.zeros_like(reference) for reference in self.plan["like"]]
        self.scratch = [torch.zeros(2)]

    def launch(self, arm):
        self.plan["arms"][arm](self)

    def reference(self):
        return self.plan["reference"]


PLANS: dict[str, dict] = {}


def random(case, seed, device):
    PLANS["seen"] = {"seed": seed, "device": device}
    return PlannedTrial(PLANS[case["plan"]])


def write(*values):
    """Make an arm that writes whole outputs."""

    def launch(trial):
        for output, value in zip(trial.outputs, values, strict=True):
            output.copy_(value)

    return launch


def compare(reference, same_bits=(), like=None, **arms):
    PLANS["now"] = {"reference": reference, "arms": arms, "like": like or reference}
    operation = Operation(
        "scale",
        "element",
        tuple(Arm(name, (), f"{MODULE}:units") for name in arms),
        f"{MODULE}:units",
        None,
        f"{MODULE}:random",
        same_bits=same_bits,
    )
    return trials.compare(operation, {"plan": "now"}, list(arms), seed=11)


ONES = torch.ones(4)


def test_an_exact_arm_has_no_error():
    assert compare([ONES], exact=write(ONES)) == {
        "exact": {
            "launched": [],
            "elements": 4,
            "unwritten": 0,
            "nonfinite": 0,
            "relative_error": 0.0,
            "differing": {},
        }
    }
    assert PLANS["seen"] == {"seed": 11, "device": trials.device()}


def test_the_error_is_the_norm_of_the_difference_over_the_norm_of_the_reference():
    reference = [torch.tensor([3.0, 0.0]), torch.tensor([[4.0]])]
    found = compare(reference, off=write(torch.tensor([3.0, 0.5]), torch.tensor([[4.0]])))
    assert found["off"]["relative_error"] == pytest.approx(0.1)


def test_an_error_against_zeros_is_not_known_unless_there_is_none():
    zeros = torch.zeros(2)
    assert compare([zeros], exact=write(zeros))["exact"]["relative_error"] == 0.0
    assert compare([zeros], off=write(ONES[:2]))["off"]["relative_error"] is None


def test_unwritten_elements_are_seen_and_their_error_is_not_a_number():
    def half(trial):
        trial.outputs[0][:2] = 1.0

    found = compare([ONES], half=half)["half"]
    assert (found["unwritten"], found["nonfinite"], found["relative_error"]) == (2, 2, None)


def test_written_nonfinite_elements_are_not_unwritten():
    found = compare([ONES], bad=write(torch.tensor([1.0, torch.nan, torch.inf, 1.0])))["bad"]
    assert (found["unwritten"], found["nonfinite"], found["relative_error"]) == (0, 2, None)


def test_scratch_that_is_read_before_it_is_written_spoils_the_result():
    def reads_scratch(trial):
        trial.outputs[0].copy_(torch.ones(4) + trial.scratch[0].sum())

    assert compare([ONES], careless=reads_scratch)["careless"]["nonfinite"] == 4


def test_an_integer_may_hold_either_poison_but_not_both_in_turn():
    values = torch.tensor([-1, 0x5A, 7], dtype=torch.int8)

    def two_of_three(trial):
        trial.outputs[0][:2] = values[:2]

    assert compare([values], whole=write(values))["whole"]["unwritten"] == 0
    found = compare([values], part=two_of_three)["part"]
    assert (found["unwritten"], found["nonfinite"]) == (1, 0)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool]
)
def test_every_kind_of_output_is_poisoned(dtype):
    values = torch.ones(6, dtype=dtype)
    assert compare([values], idle=lambda trial: None)["idle"]["unwritten"] == 6
    assert compare([values], busy=write(values))["busy"]["unwritten"] == 0


def test_outputs_that_are_a_view_of_other_memory_are_poisoned_alone():
    memory = torch.zeros(4, 4, dtype=torch.float16)

    def idle(trial):
        trial.outputs = [memory.T[1:3]]

    plan = {"reference": [], "arms": {"set": idle}, "like": []}
    trial = PlannedTrial(plan)
    trial.launch("set")
    trials.poison(trial, 0xFF)
    assert torch.isnan(memory).sum(dim=0).tolist() == [0, 4, 4, 0]


def test_arms_of_one_trial_start_from_poison_each():
    found = compare([ONES], first=write(ONES), second=lambda trial: None)
    assert found["second"]["unwritten"] == 4


def test_differing_bytes_are_counted_and_nan_equals_itself():
    one = torch.tensor([1.0, torch.nan, 0.0, 2.0])
    other = torch.tensor([1.0, torch.nan, -0.0, 3.0])
    found = compare([ONES], (("a", "b"), ("b", "a"), ("a", "absent")), a=write(one), b=write(other))
    assert (found["a"]["differing"], found["b"]["differing"]) == ({"b": 2}, {"a": 2})


@pytest.mark.parametrize("reference", [[], [torch.ones(4, 1)], [torch.ones(1)], [ONES, ONES]])
def test_a_reference_of_other_shapes_is_refused(reference):
    with pytest.raises(
        MeasurementError, match=r"the reference of .* has the shapes .*, the outputs have \[\(4,\)\]"
    ):
        compare(reference, like=[ONES], exact=write(ONES))


def test_an_arm_that_raises_ends_the_comparison():
    def broken(trial):
        raise RuntimeError("no such instruction")

    with pytest.raises(RuntimeError, match="no such instruction"):
        compare([ONES], broken=broken)
