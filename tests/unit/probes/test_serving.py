import math

import pytest
from pydantic import ValidationError

from guardrail.compiled.file_subject import FileSubject
from guardrail.probes.interface import Context
from guardrail.probes.serving import ServingProbe
from guardrail.probes.serving_guard import ServingGuard
from guardrail.records.measurement import Unmeasured
from guardrail.records.task import Done, Environment, Failed
from helpers.probing import answering, by_metric, measured, sentences

CONTEXT = Context({}, None, interpreted=True, folder="/guards")
SUBJECT = FileSubject("engine.yaml", "0" * 64)


def guard(*metrics, **keys):
    require = {metric: {"ceiling": 1e9} for metric in metrics or ("ms_per_step",)}
    return ServingGuard.model_validate(
        {"id": "g", "title": "t", "probe": "serving", "subject": "engine.yaml", "require": require, **keys}
    )


def boot(ms, requests=8, cached=0, before="cold", after="cold", tokens=64, steps=22, repeated=0.0, late=()):
    """A boot whose requests take slightly longer one after another."""
    each = [ms * (1 + number / 1000) for number in range(requests)]
    seconds = [value * (steps - 1) / 1000 for value in each]
    return {
        "ms_per_step": each,
        "tokens_per_second": [tokens / span for span in seconds],
        "isolated_tokens_per_second": [(tokens - 1) / span for span in seconds],
        "tokens_per_step": [(tokens - 1) / (steps - 1)] * requests,
        "steps": [steps] * requests,
        "completion_tokens": [tokens] * requests,
        "cached_tokens": [cached] * requests,
        "repeated_share": [0.0] * (requests - 1) + [repeated],
        "late_compilations": None if late is None else list(late),
        "times": [ms + number for number in range(requests)],
        "text": "abc",
        "cache_before": {"vllm": before},
        "cache_after": {"vllm": after},
    }


def measure(asked, subject, against=None, busy=""):
    arms = {"subject": subject} | ({} if against is None else {"against": against})
    session = {"arms": arms, "prompts": "prompts drawn with seed 7", "busy": busy}
    found, rounds = measured(
        ServingProbe(), asked, SUBJECT, CONTEXT, answering({"run_session": lambda task: Done(session, 1.0)})
    )
    return found, rounds


def test_one_boot_is_measured_by_its_requests():
    found = by_metric(measure(guard(), [boot(10.0)])[0])
    step = found["ms_per_step"]
    assert (step.value, step.unit, step.inspected) == (pytest.approx(10.035), "ms", 8)
    # Of 8 samples the smallest and the largest enclose the median with 99.2%.
    assert step.interval == pytest.approx((10.0, 10.07))
    assert found["tokens_per_step"].value == 3.0
    assert found["tokens_per_second"].value == pytest.approx(64 / (10.035 * 21 / 1000), rel=1e-6)
    assert found["isolated_tokens_per_second"].value == pytest.approx(63 / (10.035 * 21 / 1000), rel=1e-6)
    assert found["cached_tokens"].value == 0
    assert sentences(step)[:2] == [
        "prompts drawn with seed 7",
        "8 requests in 1 rounds, 512 tokens in 176 steps (22 to 22 a request)",
    ]


def test_the_request_that_repeats_itself_most_counts():
    assert by_metric(measure(guard(), [boot(10.0, repeated=0.9)])[0])["repeated_share"].value == 0.9
    assert by_metric(measure(guard(), [boot(10.0)])[0])["repeated_share"].value == 0.0
    assert by_metric(measure(guard(), [boot(10.0, repeated=None)])[0])["repeated_share"].value is None


def test_kernels_that_were_compiled_in_any_boot_are_counted_once_and_named():
    rounds = [boot(10.0 + number, late=("attend",) if number else ()) for number in range(6)]
    found = by_metric(measure(guard(rounds=6), rounds)[0])
    assert found["late_compilations"].value == 1
    assert "compiled while requests were timed: attend" in sentences(found["ms_per_step"])
    unwatched = [boot(10.0, late=None)]
    assert by_metric(measure(guard(), unwatched)[0])["late_compilations"].value is None


def test_several_boots_give_one_sample_each():
    rounds = [boot(10.0 + number) for number in range(6)]
    step = by_metric(measure(guard(rounds=6), rounds)[0])["ms_per_step"]
    assert step.samples == pytest.approx([(10.0 + number) * 1.0035 for number in range(6)])
    assert step.interval == pytest.approx((10.035, 15.0525))


def test_two_engines_are_compared_by_pairs_of_boots():
    own = [boot(10.0 + number) for number in range(6)]
    other = [boot(2 * (10.0 + number) + 0.001) for number in range(6)]
    found = by_metric(measure(guard("ms_per_step_ratio", rounds=6, against="b.yaml"), own, other)[0])
    ratio = found["ms_per_step_ratio"]
    assert (ratio.value, ratio.inspected) == (pytest.approx(0.5, abs=1e-3), 6)
    assert ratio.interval == pytest.approx((0.5, 0.5), abs=1e-3)
    assert found["tokens_per_second_ratio"].value == pytest.approx(2.0, abs=1e-3)


def warm(*later, **keys):
    rounds = [boot(10.0, after="files: 1", **keys), *later]
    asked = guard("warm_step_ratio", cache="arm", rounds=2)
    return by_metric(measure(asked, rounds)[0])


def test_an_artifact_that_is_slow_when_it_is_loaded_is_seen():
    ratio = warm(boot(26.0, before="files: 1", after="files: 1"))["warm_step_ratio"]
    assert (ratio.value, ratio.inspected) == (pytest.approx(2.6), 1)
    assert ratio.interval == pytest.approx((26.0 / 10.07, 26.182 / 10.0))
    assert "compile cache arm, round 1: compiled vllm cold -> files: 1" in sentences(ratio)
    assert "compile cache arm, round 2: compiled nothing; vllm files: 1" in sentences(ratio)


def test_an_artifact_as_fast_as_before_has_a_ratio_around_one():
    ratio = warm(boot(10.01, before="files: 1", after="files: 1"))["warm_step_ratio"]
    assert ratio.interval[0] < 1 < ratio.interval[1] < 1.01


def test_an_engine_that_compiled_nothing_was_not_inspected():
    rounds = [boot(10.0), boot(10.1)]
    ratio = by_metric(measure(guard("warm_step_ratio", cache="arm", rounds=2), rounds)[0])["warm_step_ratio"]
    assert ratio.inspected == 0


def test_two_rounds_give_no_interval_for_anything_else():
    counted = {"cached_tokens", "repeated_share", "late_compilations"}
    assert set(warm(boot(10.0001))) == {*counted, "warm_step_ratio"}


def test_too_few_requests_of_a_file_give_no_finite_interval():
    step = by_metric(measure(guard(), [boot(10.0, requests=5)])[0])["ms_per_step"]
    assert step.interval == (-math.inf, math.inf)


def test_a_copied_boot_is_no_measurement():
    (found,) = measure(guard(rounds=6), [boot(10.0 + number % 5) for number in range(6)])[0]
    assert found == Unmeasured(
        "round 6 of subject repeats round 1 of subject time for time, so it is a copy and no measurement"
    )


@pytest.mark.parametrize(("cached", "shown"), [(16, "0, 16"), (None, "0, unknown")])
def test_requests_with_unlike_prefixes_are_not_compared(cached, shown):
    (found,) = measure(guard(against="b.yaml"), [boot(10.0)], [boot(11.0, cached=cached)])[0]
    assert f"in the prefix cache ({shown} tokens, boot by boot)" in found.reason


def test_the_caches_of_a_running_server_are_not_told_of():
    served = boot(10.0) | {"cache_before": {}, "cache_after": {}}
    told = sentences(by_metric(measure(guard(), [served])[0])["ms_per_step"])
    assert [sentence for sentence in told if "cache" in sentence] == []


def test_a_server_that_does_not_tell_what_it_had_cached_is_not_known():
    assert by_metric(measure(guard(), [boot(10.0, cached=None)])[0])["cached_tokens"].value is None


def test_a_busy_machine_leaves_the_guard_undecided():
    assert measure(guard(), [], busy="The host has a load of 9.")[0] == [
        Unmeasured("The host has a load of 9.", undecided=True)
    ]


def test_an_engine_that_fails_is_an_error():
    answer = answering({"run_session": lambda task: Failed("no such model")})
    assert measured(ServingProbe(), guard(), SUBJECT, CONTEXT, answer)[0] == [Unmeasured("no such model")]


def test_a_session_is_never_taken_from_the_cache_and_finds_its_files_beside_the_guards():
    asked = guard(against="b.yaml", workload={"prompts": "p.jsonl"})
    ((task,),) = measure(asked, [boot(10.0)], [boot(11.0)])[1]
    assert (task.reusable, task.environment) == (False, Environment.COMMAND)
    assert (task.arguments["against"], task.arguments["prompts_file"]) == (
        "/guards/b.yaml",
        "/guards/p.jsonl",
    )
    assert asked.further_files == ("p.jsonl",)


def test_a_guard_for_another_device_is_skipped():
    (found,) = measure(guard(devices=["h200"]), [])[0]
    assert found.skipped


@pytest.mark.parametrize(
    ("metrics", "keys", "message"),
    [
        (("ms_per_step",), {"rounds": 3}, "3 rounds are too few for an interval"),
        (("ms_per_step",), {"rounds": 2}, "2 rounds give ms_per_step no interval"),
        (("warm_step_ratio",), {"rounds": 2}, "it needs 'cache: arm' and 'rounds: 2' or more"),
        (("warm_step_ratio",), {"cache": "arm"}, "it needs 'cache: arm' and 'rounds: 2' or more"),
        (("ms_per_step_ratio",), {"rounds": 6}, "name the other one under 'against'"),
        (("ms_per_step_ratio",), {"against": "b.yaml"}, "takes pairs of boots; write 6 rounds or more"),
        (("ms_per_step",), {"workload": {"requests": 6}}, "greater than or equal to 7"),
        (("ms_per_step",), {"workload": {"requests": 9, "prompts": "p"}}, "'requests' counts drawn prompts"),
        (("ms_per_step",), {"cache": "none"}, "Input should be 'shared', 'arm' or 'fresh'"),
    ],
)
def test_keys_that_do_not_fit_together_are_refused(metrics, keys, message):
    with pytest.raises(ValidationError, match=message):
        guard(*metrics, **keys)
