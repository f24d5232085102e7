"""What a step begins with."""

import pytest
import torch

from guardrail.kernels.reference_decode import launch, tuning
from guardrail.kernels.reference_decode.places import allocate_places

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("columns_of_a_program", [32, 256])
def test_embeddings_are_copied_and_tokens_placed_behind_their_sequences(
    monkeypatch: pytest.MonkeyPatch, columns_of_a_program: int
) -> None:
    monkeypatch.setattr(tuning, "EMBEDDED_COLUMNS", columns_of_a_program)
    monkeypatch.setattr(tuning, "INTERPRETED_COLUMNS", columns_of_a_program)
    embedding = torch.arange(4 * 96, device=DEVICE).view(4, 96).half()
    cosines = torch.arange(20 * 40, device=DEVICE).view(20, 40).float()
    places = allocate_places(2, 80, DEVICE)
    places.positions.copy_(torch.tensor([3, 17]))
    residual = torch.full([2, 96], torch.nan, device=DEVICE)
    launch.run_embed_tokens(
        torch.tensor([2, 0], device=DEVICE),
        embedding,
        (cosines, -cosines),
        torch.tensor([[7, 2], [0, 5]], dtype=torch.int32, device=DEVICE),
        16,
        residual,
        places,
    )
    assert torch.equal(residual, embedding[[2, 0]].float())
    assert places.slots.tolist() == [7 * 16 + 3, 5 * 16 + 1]
    assert places.seq_lens.tolist() == [4, 18]
    assert torch.equal(places.cosines, cosines[[3, 17]])
    assert torch.equal(places.sines, -cosines[[3, 17]])
    assert places.positions.tolist() == [3, 17]
