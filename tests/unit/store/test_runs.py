from dataclasses import replace

import pytest

from guardrail.errors import GuardrailError
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters.json import JsonReporter, SavedReportError
from guardrail.store.runs import judge_again, read_report
from helpers.fakes import ScriptedProbe, fake_job
from helpers.reports import PROVENANCE

SAVED = GuardResult(
    id="guard",
    title="an older title",
    probe="fake",
    subject="tiny.gate",
    line=99,
    verdicts=(Verdict(Status.PASS, "holds", "failures is 3 tasks, at most 5"),),
    measurements=(Measurement("failures", "tasks", 3),),
    warnings=("the clock was throttled",),
    subject_hash="cafe",
    seconds=4.5,
    cached=True,
)
RUN = RunReport("old.yaml", (SAVED,), PROVENANCE, "0.1.0", seconds=5.0, absent_profiles=("h200",))


@pytest.fixture
def judged(tmp_path):
    """Save a run, with the guard's result as given, and judge it again for some jobs."""

    def again(*jobs, saved=SAVED):
        path = tmp_path / "run.json"
        path.write_text(JsonReporter().render(replace(RUN, guards=(saved,))))
        return judge_again(path, jobs or [fake_job(ScriptedProbe())], "guards.yaml"), path

    return again


def test_a_matching_result_is_judged_by_the_bounds_of_now(judged):
    report, path = judged(fake_job(ScriptedProbe(), require={"failures": {"equals": 0}}))
    (guard,) = report.guards
    assert [(v.status, v.sentence, v.line) for v in guard.verdicts] == [
        (Status.FAIL, "failures is 3 tasks, must be exactly 0", 8)
    ]
    assert (guard.title, guard.line) == ("guard holds", 3)
    assert (guard.measurements, guard.warnings) == (SAVED.measurements, SAVED.warnings)
    assert (guard.subject_hash, guard.seconds, guard.cached) == ("cafe", 4.5, True)
    assert (report.guards_file, report.judged_from) == ("guards.yaml", str(path))


def test_the_run_keeps_what_it_was_measured_with_and_lacked(judged):
    report, _ = judged()
    assert (report.provenance, report.version, report.seconds) == (PROVENANCE, "0.1.0", 5.0)
    assert report.absent_profiles == ("h200",)


def test_a_bound_on_a_metric_that_was_not_measured_then_is_an_error(judged):
    require = {"failures": {"ceiling": 5}, "units": {"equals": 0}}
    report, _ = judged(fake_job(ScriptedProbe(), require=require))
    assert [v.code for v in report.guards[0].verdicts] == ["holds", "not-measured"]


def test_what_was_skipped_then_is_skipped_now(judged):
    skipped = replace(SAVED, measurements=(), unmeasured=(Unmeasured("another machine", skipped=True),))
    report, _ = judged(saved=skipped)
    assert report.guards[0].status is Status.SKIPPED


@pytest.mark.parametrize(
    ("job", "saved", "sentence"),
    [
        (
            {"subject_hash": "beef"},
            SAVED,
            "{path} measured tiny.gate from other sources, or for another profile; measure it again",
        ),
        ({}, replace(SAVED, subject_hash=None),
         "{path} measured tiny.gate from other sources, or for another profile; measure it again"),
        (
            {},
            replace(SAVED, probe="dispatch"),
            "{path} measured tiny.gate with probe dispatch, not what the guard asks for",
        ),
        (
            {},
            replace(SAVED, subject="tiny.other"),
            "{path} measured tiny.other with probe fake, not what the guard asks for",
        ),
        ({"name": "newer"}, SAVED, "{path} holds no result for this guard; measure it again"),
    ],
)  # fmt: skip
def test_a_result_about_something_else_is_an_error_that_vouches_for_nothing(judged, job, saved, sentence):
    report, path = judged(fake_job(ScriptedProbe(), **job), saved=saved)
    (guard,) = report.guards
    (verdict,) = guard.verdicts
    assert (verdict.status, verdict.code, verdict.line) == (Status.ERROR, "stale-report", 3)
    assert verdict.sentence == sentence.format(path=path)
    assert (guard.measurements, guard.subject_hash) == ((), None)


def test_a_stale_report_stays_stale_however_often_it_is_judged(judged, tmp_path):
    job = fake_job(ScriptedProbe(), subject_hash="beef", require={"failures": {"ceiling": 5}})
    report, _ = judged(job)
    second = tmp_path / "second.json"
    second.write_text(JsonReporter().render(report))
    (guard,) = judge_again(second, [job], "guards.yaml").guards
    assert [verdict.code for verdict in guard.verdicts] == ["stale-report"]


def test_results_without_a_guard_are_left_out(judged):
    report, _ = judged(fake_job(ScriptedProbe(), "newer"))
    assert [guard.id for guard in report.guards] == ["newer"]


def test_a_report_that_is_not_there_is_a_usage_error(tmp_path):
    with pytest.raises(SavedReportError, match=r"absent\.json: there is no such file; expected a report"):
        read_report(tmp_path / "absent.json")


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b'{"schema_version": "9.0"}', b'{"schema_version": "1.0"}']
)
def test_what_is_no_report_is_refused(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(GuardrailError, match=r"run\.json: ") as caught:
        read_report(path)
    assert caught.value.exit_code == 2
