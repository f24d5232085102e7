import pytest

from guardrail.engine import Finished, Progress, run
from guardrail.errors import MeasurementError
from guardrail.probes.interface import Measured
from guardrail.records.measurement import Unmeasured
from guardrail.records.task import Done, Failed
from guardrail.records.verdict import Status
from helpers.fakes import CONTEXT, FakeRunner, ScriptedProbe, fake_job, split


def verdicts(result):
    return [(verdict.status, verdict.code, verdict.sentence) for verdict in result.verdicts]


def test_no_jobs_end_at_once():
    assert list(run([], FakeRunner(), CONTEXT)) == []


def test_a_probe_gets_the_outcomes_of_each_round_in_the_order_of_its_tasks():
    probe = ScriptedProbe(["a", "b"], ["c"])
    _, results = split(run([fake_job(probe)], FakeRunner(), CONTEXT))
    assert [[outcome.value for outcome in batch] for batch in probe.seen] == [["a", "b"], ["c"]]
    assert verdicts(results[0]) == [(Status.PASS, "holds", "failures is 0 tasks, exactly 0")]


def test_guards_share_each_round_and_a_shorter_one_is_reported_before_the_next():
    probes = [ScriptedProbe(["a", "b"], ["c"]), ScriptedProbe(["d"]), ScriptedProbe(["e"], ["f", "g"])]
    runner = FakeRunner()
    jobs = [fake_job(probe, f"guard{at}") for at, probe in enumerate(probes)]
    events = list(run(jobs, runner, CONTEXT))
    assert runner.batches == [["a", "b", "d", "e"], ["c", "f", "g"]]
    assert [outcome.value for outcome in probes[2].seen[1]] == ["f", "g"]
    finished = [(at, event.position) for at, event in enumerate(events) if isinstance(event, Finished)]
    assert finished == [(5, 1), (10, 0), (11, 2)]


def test_progress_counts_every_task_known_so_far():
    jobs = [fake_job(ScriptedProbe(["a", "b"], ["c"]))]
    progress, _ = split(run(jobs, FakeRunner(), CONTEXT))
    assert progress == [(0, 2), (1, 2), (2, 2), (2, 3), (3, 3)]


def test_a_probe_that_asks_for_nothing_still_measures():
    probe = ScriptedProbe(conclude=lambda seen: [Unmeasured("another machine", skipped=True)])
    (event,) = run([fake_job(probe)], FakeRunner(), CONTEXT)
    assert verdicts(event.result) == [(Status.SKIPPED, "not-for-this-machine", "another machine")]


def test_a_round_without_tasks_goes_on_to_the_next():
    probe = ScriptedProbe([], ["a"])
    _, results = split(run([fake_job(probe)], FakeRunner(), CONTEXT))
    assert [len(batch) for batch in probe.seen] == [0, 1]
    assert results[0].status is Status.PASS


def test_an_error_of_a_probe_ends_its_guard_alone():
    broken = ScriptedProbe(["a"], raises=MeasurementError("the subject has no kernels"))
    whole = ScriptedProbe(["b"], ["c"])
    _, results = split(run([fake_job(broken), fake_job(whole)], FakeRunner(), CONTEXT))
    assert verdicts(results[0]) == [(Status.ERROR, "not-measured", "the subject has no kernels")]
    assert results[1].status is Status.PASS


def test_a_bug_in_a_probe_ends_its_guard_alone_and_is_named():
    broken, whole = ScriptedProbe(["a"], raises=KeyError("units")), ScriptedProbe(["b"])
    _, results = split(run([fake_job(broken), fake_job(whole)], FakeRunner(), CONTEXT))
    assert verdicts(results[0]) == [(Status.ERROR, "not-measured", "probe fake raised KeyError: 'units'")]
    assert results[1].status is Status.PASS


def test_a_probe_that_returns_nothing_measured_nothing():
    nothing: Measured = None  # what a probe without a return statement gives
    probe = ScriptedProbe(["a"], conclude=lambda seen: nothing)
    _, results = split(run([fake_job(probe)], FakeRunner(), CONTEXT))
    assert verdicts(results[0]) == [(Status.ERROR, "not-measured", "failures was not measured")]


def test_a_failed_task_is_the_probe_s_to_judge():
    runner = FakeRunner({"b": Failed("the worker died")})
    _, results = split(run([fake_job(ScriptedProbe(["a", "b"]))], runner, CONTEXT))
    assert verdicts(results[0]) == [(Status.FAIL, "not-equals", "failures is 1 tasks, must be exactly 0")]


def test_a_result_says_what_was_asked_and_what_it_cost(monkeypatch):
    monkeypatch.setattr("guardrail.engine.perf_counter", iter([50.0, 53.0]).__next__)
    runner = FakeRunner({"a": Done(1, 2.5), "b": Done(1, 9.0, cached=True)})
    job = fake_job(ScriptedProbe(["a", "b"]), "costly", subject_hash="beef", line=7)
    _, results = split(run([job], runner, CONTEXT))
    result = results[0]
    assert (result.id, result.title, result.probe, result.subject) == (
        "costly",
        "costly holds",
        "fake",
        "tiny.gate",
    )
    assert (result.line, result.subject_hash, result.seconds, result.cached) == (7, "beef", 2.5, False)


def test_a_guard_s_seconds_are_those_in_which_any_of_its_tasks_ran(monkeypatch):
    ticks = iter(
        [100.0, 110.3, 110.5, 200.0, 200.1]
    )  # the first round's begin and two ends, then the second's
    monkeypatch.setattr("guardrail.engine.perf_counter", ticks.__next__)
    runner = FakeRunner({"a": Done(0, 10.3), "b": Done(0, 10.3), "c": Done(0, 10.3)})
    _, results = split(run([fake_job(ScriptedProbe(["a", "b"], ["c"]))], runner, CONTEXT))
    # Two workers from 100.0 to 110.3 and from 100.2 to 110.5; the third outcome was known before its round.
    assert results[0].seconds == pytest.approx(10.5 + 0.1)


def test_a_result_is_cached_only_where_every_task_was():
    cached = {name: Done(1, 3.0, cached=True) for name in "ab"}
    _, results = split(run([fake_job(ScriptedProbe(["a"], ["b"]))], FakeRunner(cached), CONTEXT))
    assert (results[0].cached, results[0].seconds) == (True, 0.0)
    none = ScriptedProbe()
    _, results = split(run([fake_job(none)], FakeRunner(), CONTEXT))
    assert results[0].cached is False


def test_events_come_while_tasks_still_run():
    events = run([fake_job(ScriptedProbe(["a", "b"]))], FakeRunner(), CONTEXT)
    assert next(events) == Progress(0, 2)
    assert next(events) == Progress(1, 2)
