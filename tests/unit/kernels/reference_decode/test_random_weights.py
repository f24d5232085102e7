"""Random weights: their size, and what they make of activations."""

from dataclasses import replace

import pytest
import torch

from guardrail.kernels.reference_decode.geometry import geometry_of
from guardrail.kernels.reference_decode.random_weights import OUTPUT_GAIN, RandomWeights
from helpers.float_decoder import dequantized, logits
from helpers.tiny_decode import model

SHAPE = geometry_of(model())


@pytest.mark.parametrize(("layer", "quantization"), [(0, "q4_k"), (1, "q6_k")])
def test_a_product_of_unit_activations_has_unit_size(layer: int, quantization: str) -> None:
    raw = RandomWeights(SHAPE, 0, "cpu").matrix(f"blk.{layer}.ffn_down")
    assert raw.quantization == quantization
    weights = dequantized(raw)
    assert weights.shape == (256, 2304)
    assert weights.std().item() * 2304**0.5 == pytest.approx(1.0, rel=0.03)
    assert abs(weights.mean().item()) < 0.03 * weights.std().item()


def test_the_output_matrix_has_its_gain() -> None:
    weights = dequantized(RandomWeights(SHAPE, 0, "cpu").matrix("output"))
    assert weights.std().item() * 256**0.5 == pytest.approx(OUTPUT_GAIN, rel=0.03)


def test_a_seed_gives_the_same_bytes_again_and_another_seed_does_not() -> None:
    first, again, other = (RandomWeights(SHAPE, seed, "cpu").matrix("output").blocks for seed in (7, 7, 8))
    assert torch.equal(first, again)
    assert (first != other).float().mean() > 0.9


def test_embeddings_have_unit_size_and_point_to_a_successor() -> None:
    weights = RandomWeights(SHAPE, 0, "cpu")
    table = weights.embedding().double()
    assert table.square().mean().item() == pytest.approx(1.0, rel=0.03)
    scores = table @ dequantized(weights.matrix("output")).T
    token = torch.arange(512)
    assert (scores.argmax(-1) == (token * 7919 + 1) % 512).double().mean() > 0.98


def test_logits_neither_vanish_nor_explode_over_48_layers() -> None:
    deep = replace(SHAPE, layers=48, intermediate=256)
    found = logits(RandomWeights(deep, 0, "cpu"), [3, 5], cached=lambda rows: rows)
    assert found.std().item() == pytest.approx(OUTPUT_GAIN, rel=0.25)
