import pytest
import torch

from guardrail.kernels.q6k import matvec, trials

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def fresh_knob():
    matvec.pipelined_allowed.cache_clear()
    yield
    matvec.pipelined_allowed.cache_clear()


def test_the_knob_is_read_once(fresh_knob, monkeypatch):
    monkeypatch.setenv("GUARDRAIL_Q6K_PIPELINED", "off")
    assert matvec.pipelined_allowed() is False
    monkeypatch.setenv("GUARDRAIL_Q6K_PIPELINED", "on")
    assert matvec.pipelined_allowed() is False


def test_a_misspelt_knob_is_refused(fresh_knob, monkeypatch):
    monkeypatch.setenv("GUARDRAIL_Q6K_PIPELINED", "yes")
    with pytest.raises(ValueError, match="GUARDRAIL_Q6K_PIPELINED is 'yes'"):
        matvec.pipelined_allowed()


def test_an_unknown_arm_is_refused():
    trial = trials.random({"id": 256}, 0, DEVICE)
    with pytest.raises(ValueError, match=r"arm 'v3'.*v1, v2, v2_pf, v2_dpl, v2_pf_dpl, dequantized"):
        trial.launch("v3")


def test_activations_of_another_length_are_refused():
    trial = trials.random({"id": 512}, 0, DEVICE)
    with pytest.raises(ValueError, match=r"weights has shape \(5, 2, 224\).*\(5, 1, 224\)"):
        matvec.launch("v2", trial.blocks, trial.groups[0, :8], trial.output[0])


def test_raw_blocks_are_refused_by_an_arm_that_reads_padded_ones():
    trial = trials.random({"id": 512, "layout": "raw"}, 0, DEVICE)
    with pytest.raises(ValueError, match=r"arm v2: weights has shape \(5, 2, 210\).*\(5, 2, 224\)"):
        trial.launch("v2")


def test_a_row_that_ends_within_a_block_is_refused_by_an_arm_of_whole_blocks():
    trial = trials.random({"id": 288}, 0, DEVICE)
    with pytest.raises(ValueError, match="arm v2: 9 units are no whole number of blocks"):
        trial.launch("v2")


def test_a_strided_output_is_refused():
    trial = trials.random({"id": 512}, 0, DEVICE)
    output = torch.empty(10, device=DEVICE)[::2]
    with pytest.raises(ValueError, match=r"output has shape \(5,\) and strides \(2,\)"):
        matvec.launch("v2", trial.blocks, trial.groups[0], output)
