"""The small kernels of a step, against float64 and the reference quantizer."""

import math
from collections.abc import Iterator

import pytest
import torch

from guardrail.kernels.kquants import activations
from guardrail.kernels.reference_decode import launch

EPSILON = 1e-6
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def on_the_device() -> Iterator[None]:
    """Make tensors where kernels run."""
    with torch.device(DEVICE):
        yield


def drawn(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), device="cpu").to(DEVICE)


@pytest.mark.parametrize("columns", [256, 2304])
def test_a_norm_adds_normalizes_and_scales(columns: int) -> None:
    residual, delta, weight = drawn(2, columns), drawn(2, columns, seed=4), drawn(columns, seed=5)
    expected_sum = residual.double() + delta.double()
    root = (expected_sum.square().mean(-1, keepdim=True) + EPSILON).sqrt()
    normed = torch.full_like(residual, torch.nan)
    launch.run_add_norm(residual, delta, weight, normed, EPSILON)
    torch.testing.assert_close(residual, expected_sum.float(), rtol=0, atol=0)
    torch.testing.assert_close(normed.double(), expected_sum / root * weight, rtol=2e-6, atol=2e-6)


def test_a_norm_without_a_delta_leaves_the_residual_alone() -> None:
    residual, normed = drawn(1, 256), torch.empty(1, 256)
    before = residual.clone()
    launch.run_add_norm(residual, None, torch.ones(256), normed, EPSILON)
    assert torch.equal(residual, before)
    assert normed.square().mean().item() == pytest.approx(1.0, abs=1e-5)


def test_a_quantizing_norm_gives_the_bytes_of_the_reference_quantizer() -> None:
    residual, weight = drawn(2, 2304), drawn(2304, seed=5)
    normed, groups = torch.empty(2, 2304), torch.zeros(2, 72, 40, dtype=torch.uint8)
    launch.run_add_norm(residual, None, weight, normed, EPSILON)
    launch.run_add_norm(residual, None, weight, groups, EPSILON)
    assert torch.equal(groups, torch.stack([activations.quantize(row) for row in normed]))


def test_a_group_of_zeros_is_quantized_to_zeros() -> None:
    groups = torch.zeros(1, 8, 40, dtype=torch.uint8)
    launch.run_add_norm(torch.zeros(1, 256), None, torch.ones(256), groups, EPSILON)
    assert not groups.any()


@pytest.mark.parametrize("columns", [256, 2304])
def test_a_gated_product_is_silu_of_the_gate_times_up(columns: int) -> None:
    gate_up, product = 3 * drawn(2, 2 * columns), torch.full([2, columns], torch.nan)
    launch.run_silu_product(gate_up, product)
    gate, up = gate_up.double().chunk(2, dim=-1)
    torch.testing.assert_close(product.double(), torch.nn.functional.silu(gate) * up, rtol=2e-6, atol=2e-6)
    groups = torch.zeros(2, columns // 32, 40, dtype=torch.uint8)
    launch.run_silu_product(gate_up, groups)
    assert torch.equal(groups, torch.stack([activations.quantize(row) for row in product]))


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("head_size", [64, 80])
def test_heads_are_turned_by_their_position_and_values_are_not(head_size: int, interleaved: bool) -> None:
    query_heads, kv_heads, positions = 4, 2, torch.tensor([0, 5])
    turned = query_heads + kv_heads
    query_key, value = drawn(2, turned * head_size), drawn(2, kv_heads * head_size, seed=4)
    bias = drawn((turned + kv_heads) * head_size, seed=5)
    angles = torch.arange(8)[:, None] * 100.0 ** (-torch.arange(head_size // 2) / (head_size // 2))
    heads = torch.empty(2, turned + kv_heads, head_size, dtype=torch.float16)
    launch.run_rotate_heads(
        query_key, value, bias, positions, angles.cos(), angles.sin(), heads, interleaved=interleaved
    )
    plain = (torch.cat([query_key, value], dim=-1) + bias).double().view(2, -1, head_size)
    pairs = plain.unflatten(-1, (-1, 2)) if interleaved else plain.unflatten(-1, (2, -1)).transpose(-1, -2)
    number = torch.view_as_complex(pairs.contiguous()) * torch.polar(
        torch.ones(2, head_size // 2, dtype=torch.float64), angles[positions].double()
    ).unsqueeze(1)
    rotated = torch.view_as_real(number)
    rotated = rotated.flatten(-2) if interleaved else rotated.transpose(-1, -2).flatten(-2)
    expected = torch.cat([rotated[:, :turned], plain[:, turned:]], dim=1)
    torch.testing.assert_close(heads.double(), expected, rtol=1e-3, atol=1e-3)
    assert math.isclose(float(heads[0, 0, 0]), float(plain[0, 0, 0]), abs_tol=1e-3)


def test_a_token_is_placed_behind_its_sequence() -> None:
    slots, seq_lens = torch.empty(2, dtype=torch.int64), torch.empty(2, dtype=torch.int32)
    table = torch.tensor([[7, 2], [0, 5]], dtype=torch.int32)
    launch.run_place_tokens(torch.tensor([3, 17]), table, slots, seq_lens, block_size=16)
    assert slots.tolist() == [7 * 16 + 3, 5 * 16 + 1]
    assert seq_lens.tolist() == [4, 18]
