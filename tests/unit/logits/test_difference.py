"""How far arrays differ, against sums done by hand and by torch."""

import math

import numpy as np
import pytest
import torch

from guardrail.logits.difference import (
    compare_logits,
    delta_of,
    delta_ranges,
    differing_elements,
    nonfinite_elements,
)


def row(*values: float) -> np.ndarray:
    return np.array([values], dtype=np.float32)


def test_the_largest_and_the_mean_difference_and_where_the_largest_is() -> None:
    found = compare_logits(row(1.0, 2.0, 4.0, 0.0), row(1.0, 2.5, 3.0, 0.0))
    assert (found.delta.max_abs, found.delta.mean_abs, found.worst_at) == (1.0, 0.375, (0, 2))
    assert (found.delta.differing, found.delta.elements) == (2, 4)


def test_a_sign_of_zero_is_a_differing_byte_and_no_difference() -> None:
    delta = delta_of(row(0.0, 1.0), row(-0.0, 1.0))
    assert (delta.differing, delta.max_abs) == (1, 0.0)


def test_nan_of_equal_bytes_differs_in_no_byte_and_is_counted_on_both_sides() -> None:
    nan = row(math.nan, 1.0, math.inf)
    delta = delta_of(nan, nan)
    assert (delta.differing, delta.nonfinite, delta.max_abs) == (0, (2, 2), 0.0)
    assert compare_logits(nan, nan).kl is None


def test_a_nan_on_one_side_hides_no_other_difference() -> None:
    found = compare_logits(row(math.nan, 1.0, 5.0), row(0.0, 1.0, 2.0))
    assert (found.delta.max_abs, found.worst_at, found.delta.nonfinite) == (3.0, (0, 2), (1, 0))


def test_kl_is_the_one_that_torch_computes_in_double() -> None:
    one, other = (torch.randn(2, 50, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    logs = [torch.log_softmax(rows.double(), dim=-1) for rows in (one, other)]
    each = torch.nn.functional.kl_div(logs[1], logs[0], log_target=True, reduction="none").sum(dim=-1)
    assert compare_logits(one.numpy(), other.numpy()).kl == pytest.approx(each.max().item(), rel=1e-12)


def test_kl_of_large_logits_does_not_overflow() -> None:
    assert compare_logits(row(3e4, 0.0), row(3e4, 1.0)).kl == 0.0


def test_the_ranking_tells_the_argmax_its_margin_and_what_the_likeliest_share() -> None:
    found = compare_logits(row(1.0, 5.0, 4.0, 0.0), row(1.0, 4.0, 4.5, 2.0), top=2)
    (ranking,) = found.rankings
    assert (ranking.argmax, ranking.margin, ranking.shared_top, ranking.top) == ((1, 2), (1.0, 0.5), 2, 2)
    assert found.argmax_differs == 1
    (ranking,) = compare_logits(row(9.0, 5.0, 4.0, 0.0), row(9.0, 4.0, 4.5, 2.0), top=2).rankings
    assert (ranking.argmax, ranking.shared_top) == ((0, 0), 1)


def test_nan_is_never_the_argmax() -> None:
    (ranking,) = compare_logits(row(math.nan, 1.0, 2.0), row(0.0, 1.0, 2.0)).rankings
    assert ranking.argmax == (2, 2)


def test_arrays_of_another_shape_or_type_differ_everywhere() -> None:
    one = np.zeros(6, dtype=np.float32)
    assert differing_elements(one, one.reshape(2, 3)) == 6
    assert differing_elements(one, one.astype(np.float64)) == 6
    assert differing_elements(np.zeros(0), np.zeros(3)) == 1
    assert differing_elements(np.zeros(0), np.zeros(0)) == 0


def test_whole_numbers_are_finite() -> None:
    assert nonfinite_elements(np.arange(5, dtype=np.uint8)) == 0


def test_ranges_keep_the_extremes_of_each_stretch() -> None:
    one, other = np.zeros(6, np.float32), np.array([1, -2, 0, 0, 3, 4], np.float32)
    assert delta_ranges(one, other, 3) == [(-2.0, 1.0), (0.0, 0.0), (3.0, 4.0)]
    assert len(delta_ranges(one, other, 100)) == 6


def test_elements_that_are_finite_in_both_are_counted() -> None:
    one = np.array([1.0, np.nan, np.inf, 4.0], dtype=np.float32)
    other = np.array([2.0, 5.0, np.inf, np.nan], dtype=np.float32)
    assert (delta_of(one, other).compared, delta_of(one, other).max_abs) == (1, 1.0)
