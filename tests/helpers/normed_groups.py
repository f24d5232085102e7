"""The RMS norm as q8 groups, quantized before its root is known, in torch."""

import torch

from guardrail.kernels.kquants import activations


def normed_groups(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Quantize ``x * weight`` in float32, and divide the scales by the root mean square in float64."""
    weighted = (x * weight).view(*x.shape[:-1], -1, 32)
    largest = weighted.abs().amax(-1)
    scale = largest / torch.full_like(largest, 127)
    values = torch.where(scale.unsqueeze(-1) > 0, weighted / scale.unsqueeze(-1), 0).round().clamp(-127, 127)
    root = (x.double().square().mean(-1, keepdim=True) + epsilon).sqrt()
    groups: torch.Tensor = activations.assemble(values.to(torch.int8), (scale.double() / root).half())
    return groups


def moved_scales(groups: int) -> int:
    """Count the scales that may be rounded the other way: one, and one in fifty."""
    return 1 + groups // 50


def assert_same_groups(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Ask for the same values, and for scales rounded from numbers that are float32 roundings apart."""
    assert torch.equal(actual[..., 4:], expected[..., 4:])
    assert torch.equal(actual[..., 2:4], expected[..., 2:4])
    bits = [activations.scales(groups).view(torch.int16).int() for groups in (actual, expected)]
    steps = bits[0] - bits[1]
    assert steps.abs().max() <= 1
    assert steps.count_nonzero() <= moved_scales(steps.numel())
