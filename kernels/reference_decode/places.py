"""Where the tokens of a step go."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Places:
    """Where the tokens of one step go; rewritten by every step."""

    positions: torch.Tensor
    """Tokens before the new one, int64 [sequences]."""
    slots: torch.Tensor
    """int64 [sequences]."""
    seq_lens: torch.Tensor
    """Keys with the new one, int32 [sequences]."""
    query_starts: torch.Tensor
    """int32 [sequences + 1]: one token each."""
    cosines: torch.Tensor
    """Of the positions' rotary angles, fp32 [sequences, head size / 2]."""
    sines: torch.Tensor
    """Shaped as the cosines."""


def allocate_places(sequences: int, head_size: int, device: str | torch.device) -> Places:
    """Allocate the places of one token a sequence, the first of each.

    Args:
        sequences: Sequences of a batch.
        head_size: Elements of a head.
        device: Where.
    """
    angles = torch.zeros(2, sequences, head_size // 2, device=device)
    return Places(
        positions=torch.zeros(sequences, dtype=torch.int64, device=device),
        slots=torch.zeros(sequences, dtype=torch.int64, device=device),
        seq_lens=torch.zeros(sequences, dtype=torch.int32, device=device),
        query_starts=torch.arange(sequences + 1, dtype=torch.int32, device=device),
        cosines=angles[0],
        sines=angles[1],
    )
