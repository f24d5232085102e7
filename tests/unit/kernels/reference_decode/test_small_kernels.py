"""The norm and the gated product, against float64 and the reference quantizer."""

from collections.abc import Iterator

import pytest
import torch

from guardrail.kernels.kquants import activations
from guardrail.kernels.reference_decode import launch, tuning
from helpers.normed_groups import assert_same_groups, normed_groups

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
    summed, normed = torch.full([2, 2, columns], torch.nan)
    launch.run_add_norm(residual, delta, weight, summed, normed, EPSILON)
    torch.testing.assert_close(summed, expected_sum.float(), rtol=0, atol=0)
    torch.testing.assert_close(normed.double(), expected_sum / root * weight, rtol=2e-6, atol=2e-6)


def test_a_norm_without_a_delta_leaves_the_residual_alone() -> None:
    residual, normed = drawn(1, 256), torch.empty(1, 256)
    before = residual.clone()
    launch.run_add_norm(residual, None, torch.ones(256), None, normed, EPSILON)
    assert torch.equal(residual, before)
    assert normed.square().mean().item() == pytest.approx(1.0, abs=1e-5)


def test_a_quantizing_norm_quantizes_before_the_root_and_scales_by_it() -> None:
    residual, weight = 3 * drawn(2, 2304), drawn(2304, seed=5)
    normed, groups = torch.empty(2, 2304), torch.zeros(2, 72, 40, dtype=torch.uint8)
    launch.run_add_norm(residual, None, weight, None, normed, EPSILON)
    launch.run_add_norm(residual, None, weight, None, groups, EPSILON)
    assert_same_groups(groups, normed_groups(residual, weight, EPSILON))
    # Half of a step, and the scale's own rounding over 127 steps.
    allowed = (0.5 + 127 * 2**-11) * activations.scales(groups).double().repeat_interleave(32, -1)
    assert ((activations.dequantize(groups) - normed.double()).abs() <= allowed).all()


@pytest.mark.filterwarnings("ignore:invalid value encountered in multiply:RuntimeWarning")
@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_a_broken_residual_reaches_the_products(broken: float) -> None:
    residual, groups = drawn(1, 256), torch.zeros(1, 8, 40, dtype=torch.uint8)
    residual[0, 40] = broken
    launch.run_add_norm(residual, None, torch.ones(256), None, groups, EPSILON)
    assert activations.scales(groups)[0, 1].isnan()


@pytest.mark.parametrize("quantized", [True, False])
def test_the_programs_of_a_row_write_the_bytes_of_a_lone_one(
    monkeypatch: pytest.MonkeyPatch, quantized: bool
) -> None:
    residual, delta, weight = drawn(2, 2304), drawn(2, 2304, seed=4), drawn(2304, seed=5)

    def written(columns: int) -> tuple[torch.Tensor, torch.Tensor]:
        monkeypatch.setattr(tuning, "NORM_COLUMNS", columns)
        monkeypatch.setattr(tuning, "INTERPRETED_COLUMNS", columns)
        summed = torch.full([2, 2304], torch.nan)
        normed = torch.zeros(2, 72, 40, dtype=torch.uint8) if quantized else torch.full([2, 2304], torch.nan)
        launch.run_add_norm(residual, delta, weight, summed, normed, EPSILON)
        return summed, normed

    for lone, shared in zip(written(4096), written(512), strict=True):
        assert torch.equal(lone, shared)


def test_a_group_of_zeros_is_quantized_to_zeros() -> None:
    groups = torch.zeros(1, 8, 40, dtype=torch.uint8)
    launch.run_add_norm(torch.zeros(1, 256), None, torch.ones(256), None, groups, EPSILON)
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
