"""Identities, prompts and arrays as text, there and back."""

import math

import numpy as np
import pytest

from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.dump import from_metadata, to_metadata
from guardrail.logits.packing import pack, unpack
from guardrail.logits.prompts import draw_prompts, parse_prompts
from helpers.logit_dumps import identity


def test_an_identity_is_read_back() -> None:
    stated = identity(arms=("ffn_down: v1",), step=2, provenance={"commit": "abc", "dirty": None})
    assert from_metadata(to_metadata(stated), "a") == stated
    silent = identity(prompts=None, mode=None)
    assert from_metadata(to_metadata(silent), "a") == silent


def test_metadata_of_others_states_no_identity() -> None:
    assert from_metadata({"format": "pt"}, "a") is None
    assert from_metadata({}, "a") is None


def test_a_broken_or_newer_dump_is_refused() -> None:
    metadata = to_metadata(identity())
    with pytest.raises(MeasurementError, match="a: its metadata is not what a dump has"):
        from_metadata(metadata | {"step": "first"}, "a")
    with pytest.raises(MeasurementError, match="a: format guardrail-logits-2"):
        from_metadata(metadata | {"format": "guardrail-logits-2"}, "a")


@pytest.mark.parametrize("dtype", ["<f4", "|u1", "<f2", "<i8"])
def test_an_array_is_unpacked_to_the_byte(dtype: str) -> None:
    array = np.arange(6).astype(dtype).reshape(2, 3)
    found = unpack(pack(array))
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, (2, 3), array.tobytes())


def test_the_bits_of_nan_are_kept() -> None:
    array = np.array([math.nan, -0.0], dtype=np.float32)
    assert unpack(pack(array)).tobytes() == array.tobytes()


def test_drawn_prompts_depend_on_the_seed_alone() -> None:
    assert draw_prompts(512, 2, 3, 0) == [[394, 430, 41], [265, 497, 414]]
    assert draw_prompts(512, 2, 3, 1) != draw_prompts(512, 2, 3, 0)


def test_token_ids_are_read() -> None:
    assert parse_prompts(["1,2,3", "4, 5,6"]) == [[1, 2, 3], [4, 5, 6]]
    assert parse_prompts([]) is None


@pytest.mark.parametrize("text", ["", "1,,2", "one", "1,-2"])
def test_what_is_no_list_of_token_ids_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="expected token ids"):
        parse_prompts([text])
