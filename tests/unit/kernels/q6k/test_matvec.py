import pytest
import torch

from guardrail.adapters.launches import recorded
from guardrail.kernels.q6k import matvec, trials

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def fresh_knob():
    matvec.pipelined_allowed.cache_clear()
    yield
    matvec.pipelined_allowed.cache_clear()


@pytest.mark.parametrize(
    ("row_length", "knob", "kernel"),
    [
        (5120, "on", "mmvq_v2"),
        (13_824, "on", "mmvq_v2_pf"),
        (13_824, "off", "mmvq_v2"),
        (18_944, "on", "mmvq_v2"),
    ],
)
def test_the_product_is_right_and_launches_what_the_gate_picks(
    fresh_knob, monkeypatch, row_length, knob, kernel
):
    monkeypatch.setenv("GUARDRAIL_Q6K_PIPELINED", knob)
    trial = trials.random({"id": row_length}, 0, DEVICE)
    with recorded() as launched:
        output = matvec.matvec(trial.weights, trial.activations)
    (reference,) = trial.reference()
    assert launched == [kernel]
    assert ((output.double() - reference).norm() / reference.norm()).item() < 1e-6


def test_the_knob_is_read_once(fresh_knob, monkeypatch):
    monkeypatch.setenv("GUARDRAIL_Q6K_PIPELINED", "off")
    assert matvec.pipelined_allowed() is False
    monkeypatch.setenv("GUARDRAIL_Q6K_PIPELINED", "on")
    assert matvec.pipelined_allowed() is False


def test_a_misspelt_knob_stops_the_product(fresh_knob, monkeypatch):
    monkeypatch.setenv("GUARDRAIL_Q6K_PIPELINED", "yes")
    trial = trials.random({"id": 256}, 0, DEVICE)
    with pytest.raises(ValueError, match="GUARDRAIL_Q6K_PIPELINED is 'yes'"):
        matvec.matvec(trial.weights, trial.activations)


def test_an_unknown_arm_is_refused():
    trial = trials.random({"id": 256}, 0, DEVICE)
    with pytest.raises(ValueError, match=r"arm 'v3'.*v2 and v2_pf"):
        trial.launch("v3")


def test_activations_of_another_length_are_refused():
    trial = trials.random({"id": 512}, 0, DEVICE)
    with pytest.raises(ValueError, match=r"activations has shape \(8, 40\).*\(16, 40\)"):
        matvec.launch("v2", trial.weights, trial.activations[:8], trial.output)
