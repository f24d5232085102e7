from dataclasses import replace

import pytest

from guardrail.records.measurement import Measurement
from guardrail.records.report import GuardResult
from guardrail.records.verdict import Status, Verdict
from guardrail.rules.environment import (
    debugged,
    in_one_sentence,
    misspelt,
    review_environment,
    switched,
)
from helpers.anchors import TREE

KNOWN = ("GUARDRAIL_CACHE_DIR", "GUARDRAIL_VLLM", "GUARDRAIL_VLLM_CENSUS", "GUARDRAIL_INT4_MULTI_QUERY")
BLOCKING = replace(TREE, knobs={"CUDA_LAUNCH_BLOCKING": "1"})
SENTENCE = "rate: CUDA_LAUNCH_BLOCKING=1 makes every launch wait for its kernel, so timings include the host"


def result(samples=(1.0, 2.0), status=Status.PASS):
    return GuardResult(
        "decode", "t", "timing", "engine", 3,
        (Verdict(status, "holds", "rate holds", metric="rate"),),
        (Measurement("rate", "tokens/s", 1.5, samples=samples),),
    )  # fmt: skip


def test_a_misspelt_variable_is_named_with_the_one_that_was_meant():
    (found,) = misspelt({"GUARDRAIL_INT4_MULTI_QERY": "0", "GUARDRAIL_VLLM": "1"}, KNOWN)
    assert in_one_sentence(found) == (
        "Nothing reads GUARDRAIL_INT4_MULTI_QERY; the variable is called GUARDRAIL_INT4_MULTI_QUERY, which "
        "counts as not set; unset GUARDRAIL_INT4_MULTI_QERY, or call it GUARDRAIL_INT4_MULTI_QUERY"
    )


@pytest.mark.parametrize("name", [*KNOWN, "GUARDRAIL_TEST_VLLM_CPU", "GUARDRAIL_MINE", "OTHER_VLLM_CENSUS"])
def test_variables_that_are_read_or_are_somebody_else_s_are_left_alone(name):
    assert list(misspelt({name: "1"}, KNOWN)) == []


def test_what_was_sampled_under_a_debug_variable_is_undecided():
    reviewed = review_environment(result(), BLOCKING)
    assert reviewed.status is Status.UNDECIDED
    assert reviewed.verdicts[1:] == (Verdict(Status.UNDECIDED, "debug-variable", SENTENCE, line=3),)


def test_a_failure_stays_one():
    assert review_environment(result(status=Status.FAIL), BLOCKING).status is Status.FAIL


@pytest.mark.parametrize(
    ("measured", "provenance"),
    [
        (result(samples=()), BLOCKING),
        (result(), TREE),
        # Without a GPU no launch can wait.
        (result(), replace(BLOCKING, device=None)),
        (replace(result(), verdicts=(Verdict(Status.SKIPPED, "not-for-this-machine", "no"),)), BLOCKING),
    ],
)
def test_what_no_debug_variable_touches_stays_as_it_was_judged(measured, provenance):
    assert review_environment(measured, provenance) == measured


def test_a_saved_run_remembers_the_debug_variables():
    assert [in_one_sentence(spoiler) for spoiler in debugged(BLOCKING)] == [
        f"{SENTENCE.removeprefix('rate: ')}; unset CUDA_LAUNCH_BLOCKING"
    ]
    assert debugged(TREE) == ()


def test_switches_of_families_are_said_with_what_they_do():
    meanings = {"GUARDRAIL_INT4_MULTI_QUERY": "Lets batches take the 3D arm.", "GUARDRAIL_OTHER": "Other."}
    assert list(switched({"GUARDRAIL_INT4_MULTI_QUERY": "off", "PATH": "/bin"}, meanings)) == [
        "GUARDRAIL_INT4_MULTI_QUERY=off is in force: Lets batches take the 3D arm."
    ]
