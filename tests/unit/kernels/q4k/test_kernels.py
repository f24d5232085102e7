import pytest
import torch

from guardrail.kernels.kquants import activations
from guardrail.kernels.q4k import blocks, matvec, trials

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def relative_error(output, reference):
    return ((output.double() - reference).norm() / reference.norm()).item()


def run(case, arm, seed=0):
    trial = trials.random(case, seed, DEVICE)
    trial.launch(arm)
    return trial.output, trial.reference()[0]


@pytest.mark.parametrize("block_units", [32, 128])
@pytest.mark.parametrize("row_length", [64, 256, 320, 3584, 18_944])
def test_the_looping_arm_agrees_with_float64(row_length, block_units):
    assert relative_error(*run({"id": row_length, "block_units": block_units}, "mmvq")) < 1e-6


@pytest.mark.parametrize(("row_length", "tokens"), [(256, 1), (5120, 1), (512, 3)])
def test_the_fallback_agrees_with_float64(row_length, tokens):
    assert relative_error(*run({"id": row_length, "tokens": tokens}, "dequantized")) < 5e-6


def test_the_minimum_is_weighted_by_the_activations_themselves_not_by_their_stored_sum():
    trial = trials.random({"id": 512}, 0, DEVICE)
    trial.groups[..., 36:] = 0x5A
    trial.launch("mmvq")
    assert relative_error(trial.output, trial.reference()[0]) < 1e-6


def test_the_stored_sum_is_that_of_the_values():
    groups = activations.quantize(torch.randn(4096, generator=torch.Generator().manual_seed(0)))
    values = groups[:, 4:36].contiguous().view(torch.int8).int().sum(dim=-1)
    assert torch.equal(groups[:, 36:].contiguous().view(torch.int32)[:, 0], values.int())


def test_both_extremes_of_every_field_are_exact():
    # The largest integers that a unit can hold: 15 * 127 * 32 * 63 stays below 2**24.
    weights = torch.full((1, 1, 256), 15)
    scales = torch.full((1, 1, 8), 63)
    factors = torch.ones(1, 1, 2, dtype=torch.float16)
    raw = blocks.assemble(weights, scales, scales, factors).to(DEVICE)
    groups = activations.assemble(
        torch.full((8, 32), 127, dtype=torch.int8), torch.ones(8, dtype=torch.float16)
    ).to(DEVICE)
    output = torch.full((1,), torch.nan, device=DEVICE)
    matvec.launch("mmvq", raw, groups, output)
    assert output.item() == 256 * 127 * (63 * 15 - 63)


def test_no_byte_behind_the_last_row_or_unit_is_used():
    trial = trials.random({"id": 2304, "block_units": 32}, 0, DEVICE)
    trial.launch("mmvq")
    surrounded = torch.full((7, 9, 144), 0xFF, dtype=torch.uint8, device=DEVICE)
    surrounded[1:-1] = trial.blocks
    groups = torch.full((72 + 64, 40), 0xFF, dtype=torch.uint8, device=DEVICE)
    groups[:72] = trial.groups[0]
    output = torch.full_like(trial.output[0], torch.nan)
    matvec.launch("mmvq", surrounded[1:-1], groups[:72], output, block_units=32)
    assert torch.equal(output.view(torch.int32), trial.output[0].view(torch.int32))


def test_an_unknown_arm_is_refused():
    with pytest.raises(ValueError, match="arm 'v2': the q4_K product has mmvq and dequantized"):
        trials.random({"id": 256}, 0, DEVICE).launch("v2")


def test_half_a_unit_is_refused():
    trial = trials.random({"id": 288}, 0, DEVICE)
    with pytest.raises(ValueError, match=r"activations has shape \(9, 40\).*\(8, 40\)|weights has shape"):
        trial.launch("mmvq")
