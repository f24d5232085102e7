import pytest
import torch

from guardrail.kernels.kquants import activations
from guardrail.kernels.q4k import faulty_launches, geometry, reference, trials
from guardrail.kernels.q4k.exposing import exposing_inputs, read_counts
from guardrail.kernels.q4k.manifest import FAMILY

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def counts(trial, arm):
    trial.launch(arm)
    (row,) = trial.unit_counts()
    return row


@pytest.mark.parametrize("arm", ["mmvq", "dequantized"])
@pytest.mark.parametrize("row_length", [64, 320, 18_944])
def test_every_unit_of_a_row_is_counted_once(row_length, arm):
    assert counts(trials.exposing({"id": row_length}, DEVICE), arm) == [1] * (row_length // 64)


def test_inputs_of_the_longest_row_count_every_unit_once_in_float64():
    units = geometry.LONGEST_ROW // 64
    assert read_counts(reference.product(*exposing_inputs(units)), units) == [1] * units


@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 2), (2, 4), (4, 8), (8, 12), (12, 16), (16, 144)],
    ids=["factor", "factor of minimums", "scales", "minimums", "late scales and minimums", "weights"],
)
def test_bytes_of_a_neighbouring_block_show_up_in_the_counts(first, last):
    matrix, groups = exposing_inputs(16)
    moved = matrix.clone()
    moved[..., first:last] = matrix.roll(1, dims=1)[..., first:last]
    assert read_counts(reference.product(moved, groups), 16) != [1] * 16


@pytest.mark.parametrize(("first", "last"), [(0, 2), (4, 36)], ids=["scale", "values"])
def test_activations_of_a_neighbouring_unit_show_up_in_the_counts(first, last):
    matrix, groups = exposing_inputs(16)
    moved = groups.clone()
    moved[:, first:last] = groups.roll(2, dims=0)[:, first:last]
    assert read_counts(reference.product(matrix, moved), 16) != [1] * 16


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("dropped-tail", [1] * 24 + [0] * 4),
        ("doubled-unit", [1] * 14 + [2] + [1] * 13),
        ("unwritten-row", [1] * 24 + [0] * 4),
        ("another-kernel", [1] * 28),
    ],
)
def test_controls_of_the_gate_are_seen_in_the_counts(control, expected):
    mutants = {found.name: found.mutant for found in FAMILY.subjects()["mmvq"].controls}
    name = mutants[control].operation.exposing.partition(":")[2]
    assert counts(getattr(faulty_launches, name)({"id": 1792}, DEVICE), "mmvq") == expected


def test_a_unit_computed_twice_counts_two():
    matrix, groups = exposing_inputs(8)
    activations.scales(groups)[6:8] *= 2
    assert read_counts(reference.product(matrix, groups), 8) == [1, 1, 1, 2, 1, 1, 1, 1]
