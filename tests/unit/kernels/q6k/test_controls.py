import dataclasses
import math

import pytest
import torch

from guardrail.kernels.q6k import coverage, faulty_gates, faulty_launches, gate, trials
from guardrail.kernels.q6k.manifest import FAMILY

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SUBJECTS = FAMILY.subjects()
CASE = {"id": 1792, "block_units": 32}


def controls(subject):
    return {control.name: control for control in SUBJECTS[subject].controls}


def mutant_counts(control, case=CASE, arm="v2"):
    name = controls("mmvq")[control].mutant.operation.exposing.partition(":")[2]
    trial = getattr(faulty_launches, name)(case, DEVICE)
    trial.launch(arm)
    return trial.unit_counts()[0]


def mutant_random(control):
    name = controls("matvec")[control].mutant.random.partition(":")[2]
    return getattr(faulty_launches, name)(CASE, 3, DEVICE)


def relative_error(trial, arm="v2"):
    trial.launch(arm)
    (reference,) = trial.reference()
    return ((trial.output.double() - reference).norm() / reference.norm()).item()


@pytest.mark.parametrize(("layout", "arm"), [("padded", "v2_pf"), ("plane", "v2_pf_dpl")])
def test_without_its_upper_bound_the_gate_sends_18944_to_the_pipelined_arm(layout, arm):
    case = {"id": 18_944, "pipelined": True, "layout": layout, "tokens": 1, "rows": 1, "threshold": 0}
    assert faulty_gates.pick_without_upper_bound(case).arm == arm
    assert coverage.units(case) - coverage.covered_by_v2_pf(case) == 80


def test_without_its_upper_bound_the_gate_picks_as_before_elsewhere():
    for case in gate.domain():
        if int(case["id"]) <= 16_384 or not case["pipelined"] or case["layout"] == "raw":
            assert faulty_gates.pick_without_upper_bound(case) == gate.pick(case)


def test_the_mutant_that_never_pipelines_picks_no_pipelined_arm():
    arms = {faulty_gates.pick_never_pipelined(case).arm for case in gate.domain()}
    assert arms == {"dequantized", "v1", "v2", "v2_dpl"}


def test_the_mutant_that_ignores_tokens_sends_two_of_them_to_an_arm_that_computes_none():
    (case,) = (case for case in gate.domain() if (case["id"], case["tokens"], case["rows"]) == (5120, 2, 782))
    assert faulty_gates.pick_for_any_tokens(case).arm == "v2_dpl"
    assert coverage.covered_by_v2_dpl(case) == 0


def test_the_mutant_without_reasons_picks_the_same_arms():
    choices = [(faulty_gates.pick_without_reason(case), gate.pick(case)) for case in gate.domain()]
    assert all(mutant.arm == choice.arm and mutant.because == "" for mutant, choice in choices)


def test_a_dropped_tail_drops_the_last_eight_units():
    assert mutant_counts("dropped-tail") == [1] * 48 + [0] * 8
    assert relative_error(mutant_random("dropped-tail")) > 0.1


def test_a_doubled_unit_is_counted_twice():
    assert mutant_counts("doubled-unit") == [1] * 28 + [2] + [1] * 27
    assert relative_error(mutant_random("doubled-unit")) > 0.01


def test_an_unwritten_row_keeps_its_poison():
    trial = mutant_random("unwritten-row")
    trial.launch("v2")
    assert trial.output.isnan().tolist() == [[False] * 4 + [True]]
    assert math.isnan(relative_error(trial))
    assert mutant_counts("unwritten-row") == [1] * 50 + [0] * 6


def test_a_reordered_sum_has_other_bits_and_a_small_error():
    trial = mutant_random("reordered-sum")
    trial.launch("v2_pf")
    pipelined = trial.output.clone()
    assert relative_error(trial) < 1e-6
    assert (trial.output.view(torch.int32) != pipelined.view(torch.int32)).any()


def test_another_kernel_computes_every_unit_of_a_row_beyond_reach():
    assert mutant_counts("another-kernel", {"id": 2304, "block_units": 32}, "v2_pf") == [1] * 72


def test_a_shifted_plane_has_other_bits_and_a_large_error_on_plane_arms_alone():
    trial = mutant_random("shifted-plane")
    assert relative_error(trial, "v2_dpl") > 0.1
    assert relative_error(trial, "v2") < 1e-6


def test_faulty_launchers_are_those_of_trials_in_all_but_the_defect():
    mutant, sound = mutant_random("dropped-tail"), trials.random(CASE, 3, DEVICE)
    assert torch.equal(mutant.blocks, sound.blocks)
    assert torch.equal(mutant.plane, sound.plane)
    assert torch.equal(mutant.groups, sound.groups)


@pytest.mark.parametrize("kernel", ["mmvq_v1", "mmvq_v2", "mmvq_v2_pf_dpl", "dequantize_q6k"])
def test_kernel_controls_change_nothing_but_their_defect(kernel):
    subject = SUBJECTS[kernel]
    for control in subject.controls:
        for mutant, build in zip(control.mutant.builds, subject.builds, strict=True):
            changed = {
                field.name
                for field in dataclasses.fields(build)
                if getattr(mutant, field.name) != getattr(build, field.name)
            }
            assert changed == {"max_registers" if control.name == "register-cap" else "constants"}
