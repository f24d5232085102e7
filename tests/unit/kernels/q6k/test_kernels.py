import pytest
import torch

from guardrail.kernels.kquants import activations
from guardrail.kernels.q6k import blocks, matvec, reference, trials

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = 32
V2_ARMS = ("v2", "v2_dpl", "v2_pf", "v2_pf_dpl")


def relative_error(output, reference):
    return ((output.double() - reference).norm() / reference.norm()).item()


def run(case, arm, seed=0):
    trial = trials.random(case, seed, DEVICE)
    trial.launch(arm)
    return trial.output, trial.reference()[0]


def bits(case, arm, seed=0):
    return run(case, arm, seed)[0].view(torch.int32)


@pytest.mark.parametrize("arm", ["v2", "v2_dpl"])
@pytest.mark.parametrize("row_length", [256, 3584, 18_944])
def test_looping_arms_agree_with_float64(row_length, arm):
    assert relative_error(*run({"id": row_length}, arm)) < 1e-6


@pytest.mark.parametrize("arm", ["v2_pf", "v2_pf_dpl"])
@pytest.mark.parametrize("row_length", [256, 13_824, 16_384])
def test_pipelined_arms_agree_with_float64_where_they_cover_the_row(row_length, arm):
    assert relative_error(*run({"id": row_length}, arm)) < 1e-6


@pytest.mark.parametrize("arm", ["v2_pf", "v2_pf_dpl"])
def test_pipelined_arms_are_far_off_where_they_do_not(arm):
    assert relative_error(*run({"id": 18_944}, arm)) > 0.1


@pytest.mark.parametrize("layout", ["raw", "padded"])
@pytest.mark.parametrize("row_length", [32, 256, 5120, 5120 + 96, 18_944])
def test_v1_agrees_with_float64_in_both_strides_and_in_a_partial_block(row_length, layout):
    assert relative_error(*run({"id": row_length, "layout": layout}, "v1")) < 1e-6


@pytest.mark.parametrize("row_length", [256, 288, 5120])
@pytest.mark.parametrize("tokens", [1, 3])
def test_the_fallback_agrees_with_float64_for_every_token(row_length, tokens):
    output, expected = run({"id": row_length, "tokens": tokens}, "dequantized")
    assert output.shape == (tokens, 5)
    assert relative_error(output, expected) < 5e-6


@pytest.mark.parametrize("row_length", [256, 1280, 2048])
@pytest.mark.parametrize("seed", [0, 1])
def test_all_v2_arms_are_equal_in_every_bit_in_a_small_geometry(row_length, seed):
    case = {"id": row_length, "block_units": SMALL}
    first, *others = (bits(case, arm, seed) for arm in V2_ARMS)
    assert all(torch.equal(first, other) for other in others)


@pytest.mark.parametrize("row_length", [8192, 8448, 13_824])
def test_all_v2_arms_are_equal_in_every_bit(row_length):
    first, *others = (bits({"id": row_length}, arm) for arm in V2_ARMS)
    assert all(torch.equal(first, other) for other in others)


def test_looping_arms_are_equal_in_every_bit_beyond_the_pipelined_reach():
    case = {"id": 2304, "block_units": SMALL}
    assert torch.equal(bits(case, "v2"), bits(case, "v2_dpl"))


def test_bits_do_not_depend_on_the_rows_of_a_program():
    trial = trials.random({"id": 8448}, 0, DEVICE)
    outputs = []
    for rows_per_program in (1, 2, 4):
        output = torch.full_like(trial.output[0], torch.nan)
        matvec.launch("v2", trial.blocks, trial.groups[0], output, rows_per_program=rows_per_program)
        outputs.append(output.view(torch.int32))
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], outputs[2])


@pytest.mark.parametrize("arm", ["v1", "v2", "v2_dpl", "dequantized"])
def test_no_byte_behind_the_last_row_or_unit_is_used(arm):
    trial = trials.random({"id": 2304, "block_units": SMALL}, 0, DEVICE)
    trial.launch(arm)
    weights = trial.plane if arm == "v2_dpl" else trial.blocks
    surrounded = torch.full((len(weights) + 2, *weights.shape[1:]), 0xFF, dtype=torch.uint8, device=DEVICE)
    surrounded[1:-1] = weights
    if arm == "v2_dpl":
        surrounded[1:-1, 9 * 210 :] = 0xFF
    else:
        surrounded[1:-1, :, 210:] = 0xFF
    groups = torch.full((72 + 64, 40), 0xFF, dtype=torch.uint8, device=DEVICE)
    groups[:72] = trial.groups[0]
    output = torch.full_like(trial.output[0], torch.nan)
    matvec.launch(arm, surrounded[1:-1], groups[:72], output, block_units=SMALL)
    assert torch.equal(output.view(torch.int32), trial.output[0].view(torch.int32))


def test_random_trials_have_the_rows_that_a_case_asks_for():
    trial = trials.random({"id": 512, "rows": 70}, 0, DEVICE)
    trial.launch("v2")
    assert trial.output.shape == (1, 70)
    assert relative_error(trial.output, trial.reference()[0]) < 1e-6


def test_the_reference_in_chunks_is_that_of_the_whole(monkeypatch):
    trial = trials.random({"id": 512, "rows": 7}, 0, DEVICE)
    whole = activations.dequantize(trial.groups) @ blocks.dequantize(trial.blocks).T
    monkeypatch.setattr("guardrail.kernels.kquants.reference._CHUNK_ELEMENTS", 1024)
    torch.testing.assert_close(reference.product(trial.blocks, trial.groups), whole, rtol=1e-13, atol=0)
