from dataclasses import dataclass, field

import pytest

from guardrail.families import Control
from guardrail.probes.interface import Context
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.verdict import Status
from guardrail.selftest import run_controls
from helpers.fakes import CONTEXT, FakeRunner, SubjectProbe, fake_job, split


@dataclass(frozen=True)
class Subject:
    """What a `SubjectProbe` finds, and the subject's controls."""

    found: tuple[Measurement | Unmeasured, ...] = ()
    controls: tuple[Control, ...] = field(default=())


def units(**values: int | None) -> tuple[Measurement, ...]:
    return tuple(Measurement(metric, "units", value) for metric, value in values.items())


GOOD = units(dropped=0, doubled=0)
DROPS = Control("short", "the last unit is left out", Subject(units(dropped=1, doubled=0)), ("dropped",))
DOUBLES = Control("twice", "one unit is added twice", Subject(units(dropped=0, doubled=1)), ("doubled",))
GREEN = Control("idle", "nothing is wrong with it", Subject(GOOD), ("dropped",))
BROKEN = Control("broken", "it does not compile", Subject((Unmeasured("no such register"),)), ("dropped",))
SKIPPED = Control(
    "away", "it is elsewhere", Subject((Unmeasured("not for sm_86", skipped=True),)), ("dropped",)
)

BOTH = {"dropped": {"equals": 0}, "doubled": {"equals": 0}}


def self_test(*controls, require=BOTH, resolve=None, probe=None, context=CONTEXT, **keys):
    job = fake_job(probe or SubjectProbe(), subject=Subject(GOOD, controls), require=require, **keys)
    runner = FakeRunner()
    _, results = split(run_controls([job], runner, context, resolve))
    return results[0], runner


def verdicts(result):
    return [(verdict.status, verdict.code, verdict.sentence) for verdict in result.verdicts]


def test_a_guard_whose_every_bound_was_seen_to_turn_red_passes(monkeypatch):
    ticks = iter([10.0, 11.0, 11.5])  # two controls side by side, a second each
    monkeypatch.setattr("guardrail.engine.perf_counter", ticks.__next__)
    result, _ = self_test(DROPS, DOUBLES)
    assert verdicts(result) == [
        (
            Status.PASS,
            "control-turned-red",
            "control short (the last unit is left out) turned dropped red",
        ),
        (
            Status.PASS,
            "control-turned-red",
            "control twice (one unit is added twice) turned doubled red",
        ),
    ]
    assert (result.id, result.line, result.seconds) == ("guard", 3, 1.5)


def test_a_control_that_stays_green_fails():
    result, _ = self_test(GREEN, DOUBLES)
    assert verdicts(result)[0] == (
        Status.FAIL,
        "control-stayed-green",
        "control idle (nothing is wrong with it) left dropped green",
    )
    assert result.status is Status.FAIL


def test_a_control_must_keep_its_promise_though_another_turned_the_metric_red():
    result, _ = self_test(DROPS, GREEN, DOUBLES)
    assert [code for _, code, _ in verdicts(result)] == [
        "control-turned-red",
        "control-stayed-green",
        "control-turned-red",
    ]


def test_a_metric_without_a_control_fails_at_its_line():
    result, _ = self_test(DROPS)
    bad = result.verdicts[1]
    assert (bad.status, bad.code, bad.metric, bad.line) == (Status.FAIL, "no-control", "doubled", 9)
    assert bad.sentence == "no control turns doubled red, so its bound has never been seen to work"


def test_a_guard_without_any_control_fails_for_each_bound():
    result, runner = self_test()
    assert [code for _, code, _ in verdicts(result)] == ["no-control", "no-control"]
    assert runner.batches == []


def test_a_control_that_cannot_be_measured_is_an_error_with_the_reason():
    result, _ = self_test(BROKEN, require={"dropped": {"equals": 0}})
    (verdict,) = result.verdicts
    assert (verdict.status, verdict.code) == (Status.ERROR, "control-not-measured")
    assert verdict.sentence == (
        "control broken (it does not compile) could not be measured, so dropped was not seen to turn red"
    )
    assert verdict.evidence == ("no such register",)


def test_a_control_for_another_machine_is_skipped():
    result, _ = self_test(SKIPPED, require={"dropped": {"equals": 0}})
    assert verdicts(result) == [(Status.SKIPPED, "not-for-this-machine", "not for sm_86")]


def test_controls_of_metrics_that_the_guard_does_not_bound_are_not_run():
    result, runner = self_test(DROPS, DOUBLES, require={"dropped": {"equals": 0}})
    assert [code for _, code, _ in verdicts(result)] == ["control-turned-red"]
    assert runner.batches == [["look"]]


def test_a_control_named_by_the_guard_must_turn_every_bound_red():
    asked = []

    def resolve(name, kinds):
        asked.append((name, kinds))
        return Subject(units(dropped=2, doubled=0))

    result, _ = self_test(DROPS, DOUBLES, resolve=resolve, control="tiny.broken")
    assert asked == [("tiny.broken", (object,))]
    assert verdicts(result) == [
        (
            Status.FAIL,
            "control-stayed-green",
            "control tiny.broken (named by the guard) left doubled green",
        )
    ]


def test_a_control_named_by_the_guard_replaces_the_subject_s_own():
    result, _ = self_test(
        GREEN, resolve=lambda *_: Subject(units(dropped=2, doubled=1)), control="tiny.broken"
    )
    assert [code for _, code, _ in verdicts(result)] == ["control-turned-red"]


def test_an_error_is_not_a_red():
    unknown = Control("unknown", "the error is not a number", Subject(units(dropped=None)), ("dropped",))
    result, _ = self_test(unknown, require={"dropped": {"equals": 0}})
    assert [(v.code, v.evidence) for v in result.verdicts] == [
        ("control-not-measured", ("dropped is not known, must be exactly 0",))
    ]


def test_each_guard_is_judged_by_its_own_controls():
    jobs = [
        fake_job(SubjectProbe(), name, subject=Subject(GOOD, (control,)), require={"dropped": {"equals": 0}})
        for name, control in (("good", DROPS), ("bad", GREEN))
    ]
    progress, results = split(run_controls(jobs, FakeRunner(), CONTEXT, None))
    assert progress[-1] == (2, 2)
    assert [results[at].status for at in (0, 1)] == [Status.PASS, Status.FAIL]


class NarrowingProbe(SubjectProbe):
    """Measures nothing unless it was narrowed for the context."""

    def measure(self, guard, subject, context):
        yield []
        return list(subject.found) if guard.title == f"narrowed with seed {context.seed}" else []

    def narrowed(self, guard, context):
        return guard.model_copy(update={"title": f"narrowed with seed {context.seed}"})


@pytest.mark.parametrize("seed", [0, 7])
def test_guards_are_narrowed_for_their_controls(seed):
    context = Context({}, None, interpreted=True, seed=seed)
    result, _ = self_test(DROPS, require={"dropped": {"equals": 0}}, probe=NarrowingProbe(), context=context)
    assert [verdict.code for verdict in result.verdicts] == ["control-turned-red"]
    assert result.title == "guard holds"
