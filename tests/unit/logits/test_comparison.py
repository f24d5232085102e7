"""Dumps that are compared, and dumps that are refused."""

import math
from typing import Any

import numpy as np
import pytest

from guardrail.errors import UsageError
from guardrail.logits.classes import LogitClass
from guardrail.logits.comparison import compare_dumps
from guardrail.logits.dump import Dump
from helpers.logit_dumps import dump

A = dump([1.0, 2.0, 3.0], "a")


def refused(one: Dump, other: Dump, *pairs: tuple[Dump, Dump]) -> str:
    with pytest.raises(UsageError) as caught:
        compare_dumps(one, other, pairs, 2.0, 10)
    return str(caught.value)


@pytest.mark.parametrize(
    ("logits", "changes", "reason"),
    [
        ([1.0, 2.0], {}, "a has logits of shape [1, 3], b of [1, 2]"),
        ([1.0, 2.0, 3.0], {"prompts": ((3, 18),)}, "token 1 is 17 in a, 18 in b"),
        ([1.0, 2.0, 3.0], {"prompts": ((3, 17, 4),)}, "a has 2 tokens and b 3"),
        ([1.0, 2.0, 3.0], {"step": 2}, "a is of step 0, b of step 2"),
    ],
)
def test_what_is_no_evidence_is_refused_with_the_reason(
    logits: list[float], changes: dict[str, Any], reason: str
) -> None:
    sentence = refused(A, dump(logits, "b", **changes))
    assert sentence.startswith("refused: ")
    assert reason in sentence


def test_a_later_step_of_unknown_tokens_is_cascade() -> None:
    one, other = (dump([1.0, 2.0], name, step=3, prompts=None) for name in "ab")
    assert "cascade" in refused(one, other)


def test_a_later_step_of_the_same_tokens_is_compared_with_a_note() -> None:
    one, other = (dump([1.0, 2.0], name, step=3) for name in "ab")
    found = compare_dumps(one, other, [], 2.0, 10)
    assert found.classification.class_ is LogitClass.BITWISE
    assert found.caveats == ("step 3 of the same tokens: each side filled the cache that it reads",)


def test_an_unknown_prompt_is_a_note() -> None:
    found = compare_dumps(A, Dump("raw.f32", A.logits), [], 2.0, 10)
    assert found.caveats == ("raw.f32 does not state the prompt; that it is the same is taken on trust",)


def test_a_pair_gives_the_floor() -> None:
    pair = (dump([1.0, 2.0, 3.0], "p"), dump([1.25, 2.0, 3.0], "q"))
    found = compare_dumps(A, dump([1.0, 2.0, 3.5], "b"), [pair], 2.0, 10)
    assert (found.floors, found.classification.multiple) == ((0.25,), 2.0)
    assert found.classification.class_ is LogitClass.ROUNDING


def test_a_pair_cannot_vouch_for_itself_in_either_order() -> None:
    other = dump([1.0, 2.0, 3.5], "b")
    for pair in ((A, other), (other, A)):
        assert "cannot vouch for itself" in refused(A, other, pair)


def test_a_pair_of_another_prompt_or_with_nan_is_refused() -> None:
    other = dump([1.0, 2.0, 3.5], "b")
    elsewhere = dump([1.0, 2.0, 3.0], "p", prompts=((9, 9),))
    assert "reference pair p and p" in refused(A, other, (elsewhere, elsewhere))
    broken = dump([math.nan, 2.0, 3.0], "n")
    assert "n has 1 logits that are NaN or infinite" in refused(A, other, (A, broken))


def test_further_tensors_are_compared_by_their_bytes() -> None:
    one = dump([1.0, 2.0], "a", {"kv": np.arange(4, dtype=np.uint8), "only": np.zeros(1)})
    other = dump([1.0, 2.0], "b", {"kv": np.array([0, 1, 2, 9], dtype=np.uint8)})
    found = compare_dumps(one, other, [], 2.0, 10)
    (tensor,) = found.tensors
    assert (tensor.name, tensor.differing, tensor.elements) == ("kv", 1, 4)
    assert found.classification.class_ is LogitClass.UNCLASSIFIED
    assert found.caveats == ("only one of the two has only",)
