import math

import numpy as np
import pytest

from guardrail.errors import ExitCode
from guardrail.logits.classes import LogitClass, classify
from guardrail.logits.difference import compare_logits

BASE = np.array([[1.0, 9.0, 3.0]], dtype=np.float32)


def moved(by: float) -> np.ndarray:
    other = BASE.copy()
    other[0, 0] += np.float32(by)
    return other


def test_equal_bytes_are_bitwise() -> None:
    found = classify(compare_logits(BASE, BASE), [0.25])
    assert (found.class_, found.because) == (LogitClass.BITWISE, "every byte is equal")


@pytest.mark.parametrize(
    ("by", "expected", "multiple"),
    [
        (0.25, LogitClass.ROUNDING, 1.0),
        (0.5, LogitClass.ROUNDING, 2.0),
        (0.75, LogitClass.DIFFERENT, 3.0),
        (-4.0, LogitClass.DIFFERENT, 16.0),
    ],
)
def test_a_difference_is_measured_in_multiples_of_the_largest_reference_pair(
    by: float, expected: LogitClass, multiple: float
) -> None:
    found = classify(compare_logits(BASE, moved(by)), [0.125, 0.25], factor=2.0)
    assert (found.class_, found.multiple) == (expected, multiple)


def test_the_same_argmax_passes_nothing() -> None:
    difference = compare_logits(BASE, moved(4.79))
    assert difference.argmax_differs == 0
    assert classify(difference, [0.25]).class_ is LogitClass.DIFFERENT
    assert classify(difference, []).class_ is LogitClass.UNCLASSIFIED


def test_without_a_reference_pair_a_difference_has_no_class() -> None:
    found = classify(compare_logits(BASE, moved(1e-6)), [])
    assert found.class_ is LogitClass.UNCLASSIFIED
    assert "--class-from" in found.because


def test_a_pair_that_does_not_differ_says_nothing_about_rounding() -> None:
    assert classify(compare_logits(BASE, moved(1e-6)), [0.0]).class_ is LogitClass.UNCLASSIFIED


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_never_passes_though_its_bytes_are_equal(bad: float) -> None:
    logits = moved(bad)
    found = classify(compare_logits(logits, logits), [100.0])
    assert (found.class_, found.class_.exit_code) == (LogitClass.DIFFERENT, ExitCode.FAILED)
    assert found.because.startswith("1 and 1 logits are NaN or infinite")


def test_another_tensor_may_not_hold_nan_either() -> None:
    found = classify(compare_logits(BASE, BASE), [0.25], nonfinite=["blk.0.kv"])
    assert found.class_ is LogitClass.DIFFERENT


def test_equal_logits_beside_another_tensor_that_differs_are_not_bitwise() -> None:
    difference = compare_logits(BASE, BASE)
    assert classify(difference, [], unequal=["blk.0.kv"]).class_ is LogitClass.UNCLASSIFIED
    found = classify(difference, [0.25], unequal=["blk.0.kv"])
    assert (found.class_, found.multiple) == (LogitClass.ROUNDING, 0.0)


def test_each_class_has_its_exit_code() -> None:
    codes = {class_.value: class_.exit_code.value for class_ in LogitClass}
    assert codes == {"bitwise": 0, "rounding": 0, "different": 1, "unclassified": 4}
