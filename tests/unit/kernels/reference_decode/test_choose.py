"""The greedy choice, against torch.argmax."""

import pytest
import torch

from guardrail.kernels.reference_decode import launch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NAN, INFINITY = float("nan"), float("inf")


def chosen(logits: torch.Tensor, parts: int) -> list[int]:
    sequences = len(logits)
    tokens, steps, positions = torch.zeros(3, sequences, dtype=torch.int64, device=DEVICE)
    history = torch.zeros(1, sequences, dtype=torch.int64, device=DEVICE)
    candidates = torch.zeros(sequences, parts, dtype=torch.int64, device=DEVICE)
    launch.run_choose_tokens(logits.to(DEVICE), candidates, tokens, history, steps, positions)
    return tokens.tolist()


@pytest.mark.parametrize("parts", [1, 4, 37])
def test_the_largest_logit_is_chosen_wherever_it_lies(parts: int) -> None:
    logits = torch.randn(3, 1000, generator=torch.Generator().manual_seed(1))
    logits[0, 999], logits[1, 0] = 9.0, 9.0
    logits[2] -= 100.0
    assert chosen(logits, parts) == [999, 0, logits[2].argmax().item()]


@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        ({70: 8.0, 600: 8.0}, 70),
        ({600: INFINITY, 999: INFINITY}, 600),
        ({70: INFINITY, 600: NAN, 999: NAN}, 600),
        ({70: -NAN, 71: NAN}, 70),
    ],
)
def test_the_first_of_equal_ones_is_chosen_and_nan_is_above_all(
    placed: dict[int, float], expected: int
) -> None:
    logits = torch.randn(1, 1000, generator=torch.Generator().manual_seed(1))
    for token, value in placed.items():
        logits[0, token] = value
    assert chosen(logits, 4) == [expected] == logits.argmax(-1).tolist()


@pytest.mark.parametrize(
    ("row", "expected"),
    [([-1.0, -0.0, 0.0, -2.0], 1), ([-1.0, 0.0, -0.0, -2.0], 1), ([-INFINITY] * 4, 0), ([-3.0, -2.5] * 2, 1)],
)
def test_zeros_of_both_signs_are_equal_and_the_least_of_all_can_be_chosen(
    row: list[float], expected: int
) -> None:
    logits = torch.tensor([row])
    assert chosen(logits, 2) == [expected] == logits.argmax(-1).tolist()


def test_each_sequence_remembers_its_token_and_goes_on_by_one() -> None:
    logits = torch.zeros(2, 8, device=DEVICE)
    logits[0, 5] = logits[1, 3] = 1.0
    tokens = torch.zeros(2, dtype=torch.int64, device=DEVICE)
    history = torch.full([3, 2], -1, device=DEVICE)
    steps = torch.tensor([1, 1], device=DEVICE)
    positions = torch.tensor([7, 9], device=DEVICE)
    candidates = torch.zeros(2, 2, dtype=torch.int64, device=DEVICE)
    launch.run_choose_tokens(logits, candidates, tokens, history, steps, positions)
    assert tokens.tolist() == [5, 3]
    assert history.tolist() == [[-1, -1], [5, 3], [-1, -1]]
    assert steps.tolist() == [2, 2]
    assert positions.tolist() == [8, 10]
