import subprocess
import sys
from dataclasses import replace

import pytest

from guardrail.records.measurement import Measurement
from guardrail.records.report import RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters import common
from helpers import reports


def test_problems_come_worst_first_and_in_file_order_within_a_status() -> None:
    run = reports.report(
        reports.PASSING,
        reports.UNDECIDED,
        reports.ERRED,
        *reports.numbered(reports.FAILING, 2),
        reports.SKIPPED,
    )
    assert [guard.id for guard in common.problems(run)] == [
        "q6k-gate-covers-0",
        "q6k-gate-covers-1",
        "tall-numerics",
        "decode-7b-tg128",
    ]
    assert [guard.id for guard in common.others(run)] == ["attend-resources", "decode-3090"]


def test_verdicts_of_a_problem_come_worst_first_without_those_that_hold() -> None:
    statuses = (Status.PASS, Status.UNDECIDED, Status.SKIPPED, Status.ERROR, Status.FAIL)
    guard = replace(reports.FAILING, verdicts=tuple(Verdict(status, "code", status) for status in statuses))
    assert [verdict.sentence for verdict in common.problem_verdicts(guard)] == ["fail", "error", "undecided"]


def test_a_guard_without_verdicts_gets_an_error_that_says_so() -> None:
    assert common.problem_verdicts(reports.VERDICTLESS) == (
        Verdict(Status.ERROR, "nothing-judged", "the guard ended without a verdict"),
    )


def test_a_reason_for_skipping_is_given_once_with_all_its_places() -> None:
    skips = tuple(
        Verdict(Status.SKIPPED, "other-machine", "no assembler", where={"arch": arch})
        for arch in ("sm_90", "sm_120")
    )
    guard = replace(reports.SKIPPED, verdicts=(*skips, Verdict(Status.SKIPPED, "other-machine", "no GPU")))
    assert common.skip_reasons(guard) == ("no assembler (arch sm_90; arch sm_120)", "no GPU")


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (reports.MIXED, "5 guards: 1 pass, 1 fail, 1 error, 1 undecided, 1 skipped (1 min 33 s, 1 cached)"),
        (reports.report(reports.FAILING, seconds=0.04), "1 guard: 1 fail (0.0 s)"),
        (reports.report(), "0 guards: nothing to check (4.2 s)"),
        (
            reports.ALL["absent-profile"],
            "2 guards: 2 pass, 2 required profiles absent (4.2 s, 2 cached)",
        ),
    ],
)
def test_totals_name_every_outcome_that_occurs(run: RunReport, line: str) -> None:
    assert common.totals(run) == line


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("green", []),
        ("mixed", []),
        ("empty", ["nothing-checked"]),
        ("only-skipped", ["nothing-checked"]),
        ("absent-profile", ["absent-profile"]),
    ],
)
def test_faults_of_a_run_are_those_that_no_guard_shows(name: str, codes: list[str]) -> None:
    assert list(common.run_faults(reports.ALL[name])) == codes


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (None, "bytes", "not known"),
        (12345678, "bytes", "12345678 bytes"),
        (0.123456789, "", "0.123457"),
        (float("inf"), "µs", "inf µs"),
    ],
)
def test_quantities_keep_all_digits_of_whole_numbers(value: float | None, unit: str, expected: str) -> None:
    assert common.quantity(value, unit) == expected


@pytest.mark.parametrize(
    ("interval", "measured", "expected"),
    [
        (None, 56.0, "18.5 ms"),
        ((56.0, 56.0), 56.0, "18.5 ms"),
        ((28.5, 81.5), 56.0, "at least 18.5 ms (interval 28.5 to 81.5)"),
        ((28.5, 81.5), 57.0, "18.5 ms"),  # of another measurement
    ],
)
def test_what_an_interval_decided_is_off_by_at_least_its_nearer_end(interval, measured, expected) -> None:
    where = {"device": "h200"}
    verdict = Verdict(
        Status.FAIL,
        "beyond-ceiling",
        "slow",
        metric="delay",
        unit="ms",
        where=where,
        measured=56.0,
        excess=18.5,
    )
    other = Measurement("delay", "ms", 56.0, {"device": "gb10"}, interval=(1.0, 2.0))
    found = Measurement("delay", "ms", measured, where, interval=interval)
    guard = replace(reports.FAILING, verdicts=(verdict,), measurements=(other, found))
    assert common.excess(guard, verdict) == expected
    assert common.facts(reports.report(guard), guard, verdict)["off by"] == expected
    assert common.excess(guard, replace(verdict, excess=None)) is None


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0, "0.0 s"), (59.94, "59.9 s"), (59.96, "1 min 0 s"), (61.5, "1 min 2 s"), (3600.0, "60 min 0 s")],
)
def test_durations_turn_to_minutes_at_one_minute(seconds: float, expected: str) -> None:
    assert common.duration(seconds) == expected


def test_reporters_load_neither_pydantic_nor_what_is_above_them() -> None:
    code = (
        "import sys\n"
        "from guardrail.reporters import github, json, junit, terminal\n"
        "above = ('pydantic', 'guardrail.engine', 'guardrail.app', 'guardrail.cli', 'guardrail.spec')\n"
        "print([name for name in above if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
