import shlex
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from guardrail.compiled.file_subject import FileSubject
from guardrail.probes.command import CommandProbe, ControlRun
from guardrail.probes.command_guard import CommandGuard
from guardrail.probes.interface import Context
from guardrail.records.measurement import Unmeasured
from guardrail.records.task import Done, Environment, Failed
from guardrail.spec.profiles import DeviceProfile
from helpers.probing import answering, by_metric, measured, sentences

SCRIPT = """
import json, os, sys
print("loading")
print(json.dumps({"rate": float(os.environ.get("RATE", 50)), "tokens": 7, "n": int(sys.argv[1])}))
"""
RATE = {"rate": {"path": "rate", "unit": "tokens/s"}}
H200 = DeviceProfile(
    name="h200", title="H200", device_name="NVIDIA H200", arch="sm_90", sm_count=132, l2_bytes=1,
    dram_bytes_per_second=4_800_000_000_000, memory_bytes=1,
)  # fmt: skip


def guard(**changes):
    stated = {
        "id": "g",
        "title": "t",
        "probe": "command",
        "subject": "bench.py",
        "command": [sys.executable, "{subject}", "128"],
        "metrics": RATE,
        "require": {"rate": {"floor": 1}},
    }
    return CommandGuard.model_validate({**stated, **changes})


@pytest.fixture
def subject(tmp_path: Path) -> FileSubject:
    path = tmp_path / "bench.py"
    path.write_text(SCRIPT)
    return FileSubject.read(path)


def context(subject, **changes):
    return Context({}, None, interpreted=True, folder=str(Path(subject.path).parent), **changes)


def runs(*values, unit="tokens/s", times=()):
    """Answer the runs one after the other with the values of a metric named rate."""
    waiting = list(values)

    def answer(task):
        value = waiting.pop(0)
        samples = list(value) if isinstance(value, list | tuple) else [value]
        return Done({"rate": {"samples": samples, "unit": unit, "times": list(times)}}, 1.0)

    return answering({"take_samples": answer})


def test_a_command_really_runs_and_its_metric_has_an_interval(subject):
    found, rounds = measured(CommandProbe(), guard(), subject, context(subject))
    rate = by_metric(found)["rate"]
    assert (rate.value, rate.unit, rate.interval, rate.inspected) == (50.0, "tokens/s", (50.0, 50.0), 6)
    assert sentences(rate) == ["6 runs, one median each: 50 to 50 tokens/s"]
    (task,) = rounds[0]
    assert (len(rounds), task.environment, task.reusable) == (6, Environment.COMMAND, False)
    assert task.arguments["command"] == [sys.executable, subject.path, "128"]


def test_a_command_as_text_is_split_as_a_shell_would_split_it(subject):
    text = f"{shlex.quote(sys.executable)} '{{subject}}' 128"
    _, rounds = measured(CommandProbe(), guard(command=text), subject, context(subject), runs(*[1.0] * 6))
    assert rounds[0][0].arguments["command"] == [sys.executable, subject.path, "128"]


def test_variables_reach_the_command(subject):
    found, _ = measured(CommandProbe(), guard(environment={"RATE": "51.5"}), subject, context(subject))
    assert by_metric(found)["rate"].value == 51.5


def test_the_median_of_each_run_is_one_sample(subject):
    values = [(1.0, 2.0, 30.0), 3.0, 4.0, 5.0, 6.0, 7.0]
    found, _ = measured(CommandProbe(), guard(), subject, context(subject), runs(*values))
    rate = by_metric(found)["rate"]
    assert (rate.samples, rate.value, rate.interval) == ((2.0, 3.0, 4.0, 5.0, 6.0, 7.0), 4.5, (2.0, 7.0))


def test_a_single_run_gives_its_own_samples(subject):
    values = tuple(float(value) for value in range(1, 10))
    found, _ = measured(CommandProbe(), guard(repeat=1), subject, context(subject), runs(values))
    rate = by_metric(found)["rate"]
    assert (rate.value, rate.interval) == (5.0, (2.0, 8.0))
    assert sentences(rate) == ["9 samples of one run: 2 to 8 tokens/s"]


def test_too_few_samples_are_no_measurement(subject):
    found, _ = measured(CommandProbe(), guard(repeat=1), subject, context(subject), runs((1.0, 2.0)))
    assert found == [Unmeasured("rate: 2 samples of one run, too few for an interval; expected 6")]


def test_an_exact_metric_must_not_differ_between_runs(subject):
    exact = {"rate": {"path": "tokens", "unit": "tokens", "exact": True}}
    found, _ = measured(CommandProbe(), guard(metrics=exact, repeat=1), subject, context(subject))
    tokens = by_metric(found)["rate"]
    assert (tokens.value, tokens.interval, type(tokens.value)) == (7, None, int)
    found, _ = measured(
        CommandProbe(), guard(metrics=exact), subject, context(subject), runs(7, 7, 8, 7, 7, 7)
    )
    assert found == [Unmeasured("rate is stated to be exact, and differs from run to run: 7, 8")]


def test_a_copy_of_a_run_is_no_measurement(subject):
    answer = runs(*[5.0] * 6, times=(0.0, 1.1, 2.3, 3.4))
    found, _ = measured(CommandProbe(), guard(), subject, context(subject), answer)
    assert found == [
        Unmeasured("rate: run 2 repeats run 1 time for time, so it is a copy and no measurement")
    ]


def test_the_first_run_that_fails_ends_the_guard(subject):
    failing = answering({"take_samples": lambda task: Failed("ended with exit code 3")})
    found, rounds = measured(CommandProbe(), guard(), subject, context(subject), failing)
    assert (found, len(rounds)) == ([Unmeasured("ended with exit code 3")], 1)


@pytest.mark.parametrize(
    ("workload", "reason"),
    [
        ({"n": 64}, "{python}: the workload's n is 128, expected 64"),
        ({"batch": 1}, "{python}: the output has no batch; it goes on with rate, tokens, n"),
    ],
)
def test_other_work_than_stated_is_no_measurement(subject, workload, reason):
    found, _ = measured(CommandProbe(), guard(workload=workload), subject, context(subject))
    assert found == [Unmeasured(reason.format(python=sys.executable))]
    same, _ = measured(CommandProbe(), guard(workload={"n": 128}), subject, context(subject))
    assert by_metric(same)["rate"].value == 50.0


def test_the_control_command_runs_in_place_of_the_command(subject):
    stated = guard(control_command=[sys.executable, "{subject}", "64"])
    (control,) = CommandProbe().controls(stated, subject)
    assert (control.mutant, control.turns_red) == (ControlRun(subject), ("rate",))
    _, rounds = measured(CommandProbe(), stated, control.mutant, context(subject), runs(*[1.0] * 6))
    assert rounds[0][0].arguments["command"] == [sys.executable, subject.path, "64"]
    assert CommandProbe().controls(guard(), subject) == ()


def test_a_measurement_carries_the_profile_of_its_machine(subject):
    here = context(subject, devices={"h200": H200}, gpu_name="NVIDIA H200")
    found, _ = measured(CommandProbe(), guard(), subject, here, runs(*[1.0] * 6))
    assert by_metric(found)["rate"].where == {"profile": "h200"}
    elsewhere = context(subject, devices={"h200": H200}, gpu_name="NVIDIA H100")
    found, _ = measured(CommandProbe(), guard(), subject, elsewhere, runs(*[1.0] * 6))
    assert by_metric(found)["rate"].where == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"command": ["bench"]}, "the command must name its subject as {subject}"),
        ({"command": "bench '{subject}"}, "No closing quotation"),
        ({"command": ""}, "a command is empty"),
        ({"repeat": 3}, "3 runs are too few for an interval; write 6 or more, or 1 for a command that takes"),
        ({"reader": "jsn"}, "there is no reader 'jsn'; did you mean 'json'?"),
        ({"metrics": {"Rate": {"path": "a", "unit": "s"}}}, "'Rate' is no metric's name"),
        ({"metrics": {"rate": {"path": "a"}}}, "metric rate: give it a 'unit'; a json output has none"),
        (
            {"metrics": {"rate": {"regex": "(a)", "unit": "s"}}},
            "metric rate: reader json takes 'path', and it alone",
        ),
        ({"metrics": {"rate": {"path": "a..b", "unit": "s"}}}, "'a..b' is no path"),
        ({"reader": "regex", "metrics": {"rate": {"regex": "a", "unit": "s"}}}, "'a' has 0 groups"),
        ({"reader": "llama-bench"}, "metric rate: reader llama-bench takes 'name', and it alone"),
        ({"control": "other.py", "control_command": ["x"]}, "'control' goes without 'control_command'"),
        ({"timeout_seconds": 0}, "greater than 0"),
    ],
)
def test_a_guard_that_cannot_be_measured_is_refused(changes, message):
    with pytest.raises(ValueError) as caught:
        guard(**changes)
    assert message in str(caught.value)


RATIO = {"rate": {"path": "rate", "unit": "tokens/s", "ratio": True}}


def pairs(subject_rates, against_rates, times=()):
    """Answer the runs of both files with the values of a metric named rate, by the file that each names."""
    rates = {"bench.py": list(subject_rates), "base.py": list(against_rates)}

    def answer(task):
        (name,) = (Path(word).name for word in task.arguments["command"] if word.endswith(".py"))
        row = {"samples": [rates[name].pop(0)], "unit": "tokens/s", "times": list(times)}
        return Done({"rate": row}, 1.0)

    return answering({"take_samples": answer})


def test_a_ratio_to_another_build_is_paired_by_run_and_taken_in_turns(subject):
    drifting = [50.0, 49.0, 47.0, 44.0, 40.0, 35.0]
    answer = pairs([0.98 * rate for rate in drifting], drifting)
    asked = guard(metrics=RATIO, against="base.py")
    found, rounds = measured(CommandProbe(), asked, subject, context(subject), answer)
    rate = by_metric(found)["rate"]
    assert (rate.value, rate.unit, rate.inspected) == (pytest.approx(0.98), "x", 6)
    assert rate.interval == pytest.approx((0.98, 0.98))
    assert sentences(rate) == ["6 pairs of runs, medians 45.5 and 44.59 tokens/s"]
    ran = [Path(task.arguments["command"][1]).name for (task,) in rounds]
    assert ran == ["bench.py", "base.py", "base.py", "bench.py"] * 3
    assert rounds[1][0].arguments["command"][1] == str(Path(subject.path).parent / "base.py")


def test_a_base_that_is_a_copy_or_gives_no_rate_is_no_ratio(subject):
    asked = guard(metrics=RATIO, against="base.py")
    found, _ = measured(
        CommandProbe(), asked, subject, context(subject), pairs([5.0] * 6, [5.0] * 6, (0.0, 1.1, 2.3, 3.4))
    )
    assert found == [
        Unmeasured("rate: run 2 repeats run 1 time for time, so it is a copy and no measurement")
    ]
    found, _ = measured(CommandProbe(), asked, subject, context(subject), pairs([5.0] * 6, [0.0] * 6))
    assert found == [Unmeasured("rate: a ratio needs positive, finite values, not 0.0")]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"metrics": RATIO}, "'against' and a metric with 'ratio: true' go together"),
        ({"against": "base.py"}, "'against' and a metric with 'ratio: true' go together"),
        ({"metrics": RATIO, "against": "base.py", "repeat": 1}, "metric rate: a ratio takes pairs of runs"),
        (
            {"metrics": {"rate": {**RATIO["rate"], "exact": True}}, "against": "base.py"},
            "metric rate: 'ratio' goes without 'exact'",
        ),
    ],
)
def test_a_ratio_without_pairs_is_refused(changes, fault):
    with pytest.raises(ValueError, match=fault):
        guard(**changes)


WEIGHED = {"rate": {"path": "rate", "unit": "tokens/s", "bytes_each": 4_369_225_728}}


def weighed(subject, rate, gpu_name="NVIDIA H200"):
    here = context(subject, devices={"h200": H200}, gpu_name=gpu_name)
    return measured(CommandProbe(), guard(metrics=WEIGHED), subject, here, runs(*[rate] * 6))[0]


def test_a_rate_that_the_memory_cannot_deliver_is_no_measurement(subject):
    assert weighed(subject, 1580.0) == [
        Unmeasured(
            "rate: 1580 tokens/s of 4,369,225,728 bytes each take 6.9e+12 B/s, and the memory of h200 "
            "delivers 4.8e+12 at most: the work was not done, or less of it than 'bytes_each' says"
        )
    ]


def test_a_rate_that_it_can_deliver_tells_its_share(subject):
    assert sentences(by_metric(weighed(subject, 622.5))["rate"])[1:] == [
        "622.5 tokens/s of 4,369,225,728 bytes each take 2.72e+12 B/s, 57% of what the memory of h200 "
        "delivers at most"
    ]


def test_a_rate_on_an_unknown_device_says_that_it_was_not_held_against_one(subject):
    assert sentences(by_metric(weighed(subject, 1580.0, "NVIDIA H100"))["rate"])[1:] == [
        "4,369,225,728 bytes each were not held against a memory rate: no profile is of this GPU"
    ]


def test_the_unit_that_a_format_has_must_be_a_rates_too(subject):
    by_name = {"rate": {"name": "rate", "bytes_each": 1}}
    asked = guard(metrics=by_name, reader="llama-bench")
    found, _ = measured(CommandProbe(), asked, subject, context(subject), runs(*[1.0] * 6, unit="ms"))
    assert found == [Unmeasured("rate: 'bytes_each' goes with a rate, and its unit is ms")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unit": "ms"}, "'bytes_each' goes with a rate, and ms is none"),
        ({"exact": True}, "'bytes_each' goes with a rate, not with 'ratio' or 'exact'"),
        ({"bytes_each": 0}, "Input should be greater than 0"),
    ],
)
def test_bytes_of_what_is_no_rate_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        guard(metrics={"rate": WEIGHED["rate"] | changes})
