import pytest
import torch

from guardrail.kernels.kquants import activations
from guardrail.kernels.q6k import geometry, reference, trials
from guardrail.kernels.q6k.exposing import DIGITS, exposing_inputs, read_counts

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def counts(case, arm):
    trial = trials.exposing(case, DEVICE)
    trial.launch(arm)
    (row,) = trial.unit_counts()
    return row


@pytest.mark.parametrize(
    ("row_length", "arm"),
    [
        (256, "v2"),
        (18_944, "v2"),
        (8448, "v2_pf"),
        (16_384, "v2_pf"),
        (18_944, "v2_dpl"),
        (16_384, "v2_pf_dpl"),
        (32, "v1"),
        (3616, "v1"),
        (3616, "dequantized"),
        (18_944, "dequantized"),
    ],
)
def test_every_unit_of_a_covered_row_is_counted_once(row_length, arm):
    assert counts({"id": row_length}, arm) == [1] * (row_length // 32)


@pytest.mark.parametrize("arm", ["v2_pf", "v2_pf_dpl"])
def test_the_pipelined_arms_drop_80_of_592_units(arm):
    assert counts({"id": 18_944}, arm) == [1] * 512 + [0] * 80


def test_every_token_of_the_fallback_counts_by_itself():
    trial = trials.exposing({"id": 512, "tokens": 3}, DEVICE)
    trial.launch("dequantized")
    assert trial.unit_counts() == [[1] * 16] * 3


def test_v2_pf_drops_8_of_72_units_in_a_small_geometry():
    case = {"id": 2304, "block_units": 32}
    assert counts(case, "v2_pf") == [1] * 64 + [0] * 8
    assert counts(case, "v2") == [1] * 72


def test_inputs_of_the_longest_row_count_every_unit_once_in_float64():
    units = geometry.LONGEST_ROW // 32
    assert read_counts(reference.product(*exposing_inputs(units)), units) == [1] * units


def test_counts_up_to_three_are_read():
    matrix, groups = exposing_inputs(24)
    for unit, factor in ((0, 2), (9, 3), (10, 0), (23, 2)):
        activations.scales(groups)[unit] *= factor
    expected = [1] * 24
    expected[0], expected[9], expected[10], expected[23] = 2, 3, 0, 2
    assert read_counts(reference.product(matrix, groups), 24) == expected


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -1.0, 0.5, 4.0**DIGITS])
def test_an_output_that_is_no_sum_of_contributions_counts_nothing(value):
    assert read_counts(torch.tensor([1.0, value]), 13) == [1] + [0] * 12


@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 64), (64, 128), (128, 192), (192, 208), (208, 210)],
    ids=["low bits of one half", "low bits of the other", "high bits", "scales", "factor"],
)
def test_bytes_of_a_neighbouring_block_show_up_in_the_counts(first, last):
    matrix, groups = exposing_inputs(32)
    moved = matrix.clone()
    moved[..., first:last] = matrix.roll(1, dims=1)[..., first:last]
    assert read_counts(reference.product(moved, groups), 32) != [1] * 32


@pytest.mark.parametrize(("first", "last"), [(0, 2), (4, 36)], ids=["scale", "values"])
def test_activations_of_a_neighbouring_unit_show_up_in_the_counts(first, last):
    matrix, groups = exposing_inputs(32)
    moved = groups.clone()
    moved[:, first:last] = groups.roll(1, dims=0)[:, first:last]
    assert read_counts(reference.product(matrix, moved), 32) != [1] * 32


def test_weights_of_a_neighbouring_row_show_up_in_the_counts():
    matrix, groups = exposing_inputs(32)
    moved = matrix.clone()
    moved[..., :192] = matrix.roll(1, dims=0)[..., :192]
    assert read_counts(reference.product(moved, groups), 32) != [1] * 32
