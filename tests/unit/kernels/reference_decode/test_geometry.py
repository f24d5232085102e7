"""The shape of a model, and llama.cpp's mixed rule."""

from collections import Counter
from dataclasses import replace

import pytest

from guardrail.errors import MeasurementError
from guardrail.kernels.reference_decode.geometry import geometry_of, has_six_bits
from helpers.tiny_decode import model


@pytest.mark.parametrize("name", ["tiny-decode", "qwen2.5-7b", "qwen2.5-14b"])
def test_the_mixed_rule_gives_the_quantizations_of_the_profile(name: str) -> None:
    profile = model(name)
    layers = geometry_of(profile).layers
    stated = {
        (each.name, each.quantization): each.layers for each in profile.tensors if each.name != "output"
    }
    names = {each.name for each in profile.tensors if each.name != "output"}
    counted = Counter(
        (each, "q6_k" if has_six_bits(each, layer, layers) else "q4_k")
        for each in names
        for layer in range(layers)
    )
    assert counted == stated


def test_the_mixed_rule_takes_both_ends_and_every_third_layer_of_28() -> None:
    six = [layer for layer in range(28) if has_six_bits("ffn_down", layer, 28)]
    assert six == [0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 24, 25, 26, 27]


def test_qwen_7b_has_the_shape_of_its_config() -> None:
    geometry = geometry_of(model("qwen2.5-7b"))
    assert (geometry.hidden, geometry.intermediate, geometry.heads) == (3584, 18944, 36)
    assert (geometry.query_columns, geometry.kv_columns) == (3584, 512)


def test_a_profile_without_what_a_step_needs_is_refused_by_name() -> None:
    with pytest.raises(MeasurementError, match=r"model profile tiny-decode: .* 'hidden_size'"):
        geometry_of(replace(model(), hidden_size=None))


def test_rows_that_are_no_whole_blocks_are_refused() -> None:
    with pytest.raises(MeasurementError, match="hidden size 288 is no multiple of 256"):
        geometry_of(replace(model(), hidden_size=288))
