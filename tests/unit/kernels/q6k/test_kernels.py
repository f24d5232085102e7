import pytest
import torch

from guardrail.kernels.q6k import blocks, matvec, trials

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL = 32


def relative_error(output, reference):
    return ((output.double() - reference).norm() / reference.norm()).item()


def run(case, arm, seed=0):
    trial = trials.random(case, seed, DEVICE)
    trial.launch(arm)
    return trial.output, trial.reference()[0]


@pytest.mark.parametrize("row_length", [256, 3584, 5120, 13_824, 18_944])
def test_v2_agrees_with_float64(row_length):
    assert relative_error(*run({"id": row_length}, "v2")) < 1e-6


@pytest.mark.parametrize("row_length", [256, 5120, 13_824, 16_384])
def test_v2_pf_agrees_with_float64_where_it_covers_the_row(row_length):
    assert relative_error(*run({"id": row_length}, "v2_pf")) < 1e-6


def test_v2_pf_is_far_off_where_it_does_not():
    assert relative_error(*run({"id": 18_944}, "v2_pf")) > 0.1


@pytest.mark.parametrize("row_length", [256, 4096, 5120, 18_944])
@pytest.mark.parametrize("block_bytes", [210, 224])
def test_v1_agrees_with_float64_in_both_strides(row_length, block_bytes):
    trial = trials.random({"id": row_length}, 0, DEVICE)
    weights = trial.weights[..., :block_bytes].contiguous()
    matvec.launch_v1(weights, trial.activations, trial.output)
    assert relative_error(trial.output, trial.reference()[0]) < 1e-6


@pytest.mark.parametrize("row_length", [256, 1024, 1280, 1792, 2048])
@pytest.mark.parametrize("seed", [0, 1])
def test_v2_and_v2_pf_are_equal_in_every_bit_in_a_small_geometry(row_length, seed):
    case = {"id": row_length, "block_units": SMALL}
    assert torch.equal(
        run(case, "v2", seed)[0].view(torch.int32), run(case, "v2_pf", seed)[0].view(torch.int32)
    )


@pytest.mark.parametrize("row_length", [256, 5120, 8192, 8448, 13_824, 16_384])
def test_v2_and_v2_pf_are_equal_in_every_bit(row_length):
    case = {"id": row_length}
    assert torch.equal(run(case, "v2")[0].view(torch.int32), run(case, "v2_pf")[0].view(torch.int32))


def test_bits_do_not_depend_on_the_rows_of_a_program():
    trial = trials.random({"id": 8448}, 0, DEVICE)
    outputs = []
    for rows_per_program in (1, 2, 4):
        output = torch.full_like(trial.output, torch.nan)
        matvec.launch("v2", trial.weights, trial.activations, output, rows_per_program=rows_per_program)
        outputs.append(output.view(torch.int32))
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], outputs[2])


def test_no_byte_behind_the_last_row_or_unit_is_used():
    trial = trials.random({"id": 2304, "block_units": SMALL}, 0, DEVICE)
    trial.launch("v2")
    expected = trial.output.clone()
    rows, row_blocks, block_bytes = trial.weights.shape
    surrounded = torch.full((rows + 2, row_blocks, block_bytes), 0xFF, dtype=torch.uint8, device=DEVICE)
    surrounded[1:-1] = trial.weights
    groups = torch.full((len(trial.activations) + 64, 40), 0xFF, dtype=torch.uint8, device=DEVICE)
    groups[: len(trial.activations)] = trial.activations
    padding = blocks.pad(trial.weights[..., :210])
    padding[..., 210:] = 0xFF
    surrounded[1:-1] = padding
    output = torch.full_like(expected, torch.nan)
    matvec.launch("v2", surrounded[1:-1], groups[: len(trial.activations)], output, block_units=SMALL)
    assert torch.equal(output.view(torch.int32), expected.view(torch.int32))
