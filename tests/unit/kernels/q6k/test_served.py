import pytest
import torch

from guardrail.adapters.launches import recorded
from guardrail.kernels.kquants import cuda_module, knob
from guardrail.kernels.q4k import manifest as q4k_manifest
from guardrail.kernels.q4k import served as q4k_served
from guardrail.kernels.q4k import trials as q4k_trials
from guardrail.kernels.q6k import cuda_matvec, served, trials
from guardrail.kernels.q6k.manifest import FAMILY
from guardrail.kernels.q6k.served_faulty_launches import with_v2_reordered


@pytest.fixture
def cuda_serves(monkeypatch):
    """Let CUDA C++ serve as on a GPU, and collect what it is asked for."""
    asked = []
    monkeypatch.setattr(cuda_module, "serves", lambda tensor: True)
    monkeypatch.setattr(cuda_matvec, "launch", lambda arm, *tensors, **options: asked.append((arm, options)))
    return asked


def launched(launch, trial, arm):
    with recorded() as symbols:
        launch(arm, trial.blocks, trial.groups[0], trial.output[0], block_units=trial.block_units)
    return symbols


@pytest.mark.parametrize(("arm", "symbol"), [("v2", "mmvq_v2"), ("v1", "mmvq_v1")])
@pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA C++ serves on a GPU")
def test_triton_serves_where_there_is_no_gpu(arm, symbol):
    assert launched(served.launch, trials.random({"id": 256}, 0, "cpu"), arm) == [symbol]


def test_cuda_serves_the_arms_that_it_has_with_the_tile_of_the_gate(cuda_serves):
    trial = trials.random({"id": 256, "block_units": 32}, 0, "cpu")
    assert launched(served.launch, trial, "v2_pf") == []
    assert cuda_serves == [("v2_pf", {"block_units": 32})]


@pytest.mark.skipif(torch.cuda.is_available(), reason="the tensors are on the CPU, where Triton interprets")
def test_triton_serves_the_arms_that_cuda_has_not(cuda_serves):
    assert launched(served.launch, trials.random({"id": 256}, 0, "cpu"), "v1") == ["mmvq_v1"]
    assert launched(q4k_served.launch, q4k_trials.random({"id": 320}, 0, "cpu"), "mmvq") == ["mmvq_q4k"]
    assert cuda_serves == []


def test_v2_reordered_shares_a_row_among_half_as_many_lanes(cuda_serves):
    trial = trials.random({"id": 256}, 0, "cpu")
    launched(with_v2_reordered, trial, "v2")
    ((arm, options),) = cuda_serves
    course = cuda_matvec.pick_course(5, 8)
    assert (arm, options["course"].lanes_per_row) == ("v2", course.lanes_per_row // 2)


def test_what_serves_states_the_symbols_of_cuda_and_needs_a_gpu():
    arms = {arm.name: arm.launches for arm in FAMILY.subjects()["served_matvec"].arms}
    assert arms == {
        "v2_pf_dpl": ("cuda_mmvq_v2_pf_dpl",),
        "v2_dpl": ("cuda_mmvq_v2_dpl",),
        "v2_pf": ("cuda_mmvq_v2_pf",),
        "v2": ("cuda_mmvq_v2",),
        "v1": ("mmvq_v1",),
        "dequantized": ("dequantize_q6k",),
    }
    served_q4k = q4k_manifest.FAMILY.subjects()["served_matvec"]
    assert [arm.launches for arm in served_q4k.arms] == [("cuda_mmvq_q4k",), ("dequantize_q4k",)]
    assert {case["id"] % 256 for case in served_q4k.cases} == {0}
    assert FAMILY.subjects()["served_mmvq"].operation.needs_gpu == (
        "CUDA C++ kernels serve, which run on a GPU alone"
    )


@pytest.mark.parametrize(("value", "allowed"), [(None, True), ("on", True), ("off", False)])
def test_the_knob_turns_cuda_off(value, allowed):
    assert knob.cuda_allowed({} if value is None else {knob.CUDA: value}) is allowed


def test_a_misspelt_knob_is_refused():
    with pytest.raises(ValueError, match="GUARDRAIL_KQUANTS_CUDA is 'no'; set it to one of true, 1, on"):
        knob.cuda_allowed({knob.CUDA: "no"})
