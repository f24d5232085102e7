from collections import Counter
from typing import Any

import pytest
import torch

from guardrail.kernels.int4_attention import trial_mutants, trials, write_trials

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CASE = {"kv_heads": 4, "captured": True, "query_len": 9, "sequences": 1, "context": 30}


def poison(trial: Any) -> None:
    for tensor in (*trial.outputs, *trial.scratch):
        tensor.fill_(torch.nan if tensor.is_floating_point() else 0xFF)


def counts_of(kind: type[trials.ExposingAttention], arm: str) -> Counter[int]:
    trial = kind(CASE, DEVICE)
    poison(trial)
    trial.launch(arm)
    return Counter(count for group in trial.unit_counts() for count in group)


VISIBLE = sum(range(31, 40)) * trials.KV_HEADS * trials.GROUP
SECOND_SEGMENT = sum(range(8)) * trials.KV_HEADS * trials.GROUP


@pytest.mark.parametrize("arm", ["2d", "3d"])
def test_every_visible_key_is_counted_once(arm: str) -> None:
    assert counts_of(trials.ExposingAttention, arm) == {1: VISIBLE}


def test_a_skipped_segment_is_counted_as_dropped() -> None:
    counts = counts_of(trial_mutants.ExposingSkippedSegment, "3d")
    assert counts == {0: SECOND_SEGMENT, 1: VISIBLE - SECOND_SEGMENT}


def test_a_doubled_segment_is_counted_twice() -> None:
    counts = counts_of(trial_mutants.ExposingDoubledSegment, "3d")
    # Rows that see the first segment only give the same output however often they count it.
    alone = (31 + 32) * trials.KV_HEADS * trials.GROUP
    assert counts == {1: SECOND_SEGMENT + alone, 2: VISIBLE - SECOND_SEGMENT - alone}


def test_a_forgotten_token_leaves_its_output_unwritten() -> None:
    trial = trial_mutants.ExposingForgottenToken(CASE, DEVICE)
    poison(trial)
    trial.launch("3d")
    assert int(torch.isnan(trial.outputs[0]).sum()) == trials.KV_HEADS * trials.GROUP * trials.HEAD_SIZE
    assert [sum(group) for group in trial.unit_counts()][-1] == 0


def test_a_silent_fallback_leaves_the_scratch_untouched() -> None:
    trial = trial_mutants.ExposingSilentFallback(CASE, DEVICE)
    poison(trial)
    trial.launch("3d")
    assert all(torch.isnan(tensor).all() for tensor in trial.scratch)
    assert torch.isfinite(trial.outputs[0]).all()


def test_more_keys_than_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="73 keys: expected at most head_size=64"):
        trials.ExposingAttention({**CASE, "context": 64}, DEVICE)


def test_an_unknown_arm_is_refused() -> None:
    with pytest.raises(ValueError, match="arm '4d': expected 2d or 3d"):
        trials.ExposingAttention(CASE, DEVICE).launch("4d")


def relative_error(kind: type[trials.RandomAttention], mean_score: int) -> float:
    trial = kind({**CASE, "mean_score": mean_score}, 5, DEVICE)
    poison(trial)
    trial.launch("3d")
    (expected,) = trial.reference()
    return float((trial.outputs[0].double() - expected).norm() / expected.norm())


def test_a_poisoned_maximum_shows_only_in_scores_far_below_zero() -> None:
    assert relative_error(trials.RandomAttention, 0) < 1e-3
    assert relative_error(trials.RandomAttention, -300) < 1e-3
    assert relative_error(trial_mutants.RandomPoisonedMaximum, 0) < 1e-3
    # Two of nine tokens see nothing of the second segment and become zero.
    assert relative_error(trial_mutants.RandomPoisonedMaximum, -300) > 0.2


def test_a_skipped_segment_shows_in_random_outputs() -> None:
    assert relative_error(trial_mutants.RandomSkippedSegment, 0) > 0.1


def written_error(kind: type[write_trials.RandomWrite], rotated: bool) -> float:
    trial = kind({"blocks": 1, "head_size": 64, "rotated": rotated}, 3, DEVICE)
    poison(trial)
    trial.launch("write")
    (expected,) = trial.reference()
    return float((trial.outputs[0] - expected).norm() / expected.norm())


@pytest.mark.parametrize("rotated", [False, True])
def test_a_cache_write_is_exact_but_for_the_bits_of_the_zero_point(rotated: bool) -> None:
    assert 1e-7 < written_error(write_trials.RandomWrite, rotated) < 15 * 2**-23


@pytest.mark.parametrize("rotated", [False, True])
def test_one_level_of_one_element_shows_in_a_cache_write(rotated: bool) -> None:
    assert 1e-3 < written_error(trial_mutants.WriteOneLevelOff, rotated) < 3e-3


def test_a_forgotten_zero_point_shows_in_a_cache_write() -> None:
    assert written_error(trial_mutants.WriteWithoutZeroPoint, False) > 0.5


def test_forgotten_signs_show_in_a_cache_write() -> None:
    assert written_error(trial_mutants.WriteWithoutSigns, True) > 0.5
