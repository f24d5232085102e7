import pytest

from guardrail.errors import ExitCode
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict, worst
from helpers.reports import PROVENANCE

PASS, FAIL, UNDECIDED, SKIPPED, ERROR = Status


def result(*statuses):
    return GuardResult(
        "g", "t", "p", "s", 1, tuple(Verdict(status, "code", "sentence") for status in statuses)
    )


def run(*guards, absent=()):
    return RunReport("guards.yaml", guards, PROVENANCE, "0.1.0", absent_profiles=absent)


@pytest.mark.parametrize(
    ("statuses", "decisive"),
    [
        ([], ERROR),
        ([PASS], PASS),
        ([SKIPPED], SKIPPED),
        ([SKIPPED, PASS], PASS),
        ([PASS, UNDECIDED], UNDECIDED),
        ([UNDECIDED, ERROR], ERROR),
        ([ERROR, FAIL, PASS], FAIL),
    ],
)
def test_the_worst_status_decides(statuses, decisive):
    assert worst(statuses) is decisive
    assert result(*statuses).status is decisive


@pytest.mark.parametrize(
    ("guards", "code"),
    [
        ([], ExitCode.NOTHING_CHECKED),
        ([result(SKIPPED)], ExitCode.NOTHING_CHECKED),
        ([result(PASS)], ExitCode.OK),
        ([result(PASS), result(SKIPPED)], ExitCode.OK),
        ([result(PASS), result(UNDECIDED)], ExitCode.UNDECIDED),
        ([result(UNDECIDED), result(ERROR)], ExitCode.NOT_MEASURED),
        ([result()], ExitCode.NOT_MEASURED),
        ([result(ERROR), result(FAIL), result(UNDECIDED)], ExitCode.FAILED),
    ],
)
def test_the_exit_code_is_that_of_the_worst_guard(guards, code):
    assert run(*guards).exit_code is code


@pytest.mark.parametrize(
    ("guards", "code"),
    [
        ([result(PASS)], ExitCode.NOT_MEASURED),
        ([], ExitCode.NOT_MEASURED),
        ([result(UNDECIDED)], ExitCode.NOT_MEASURED),
        ([result(FAIL)], ExitCode.FAILED),
    ],
)
def test_an_absent_profile_keeps_a_run_from_passing(guards, code):
    assert run(*guards, absent=("h200",)).exit_code is code


def test_exit_codes_are_those_of_the_documentation():
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0,
        "FAILED": 1,
        "USAGE": 2,
        "NOT_MEASURED": 3,
        "UNDECIDED": 4,
        "NOTHING_CHECKED": 5,
    }


def test_guards_are_counted_by_status():
    report = run(result(PASS), result(FAIL), result(PASS, FAIL), result(SKIPPED))
    assert [report.count(status) for status in Status] == [1, 2, 0, 1, 0]
