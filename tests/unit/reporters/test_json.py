import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from guardrail.errors import ExitCode
from guardrail.records.measurement import Measurement
from guardrail.records.report import RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters.json import JsonReporter, SavedReportError, load, schema
from helpers import reports
from helpers.random_reports import RUNS

VALIDATOR = Draft202012Validator(schema())


def saved(run: RunReport) -> Any:
    return json.loads(JsonReporter().render(run))


def fault(text: str) -> str:
    with pytest.raises(SavedReportError) as caught:
        load(text, "old.json")
    assert caught.value.exit_code is ExitCode.USAGE
    return str(caught.value)


@pytest.mark.parametrize("name", reports.ALL)
def test_a_saved_run_is_read_back_equal(name: str) -> None:
    text = JsonReporter().render(reports.ALL[name])
    assert load(text, "run.json") == reports.ALL[name]
    assert JsonReporter().render(load(text, "run.json")) == text


@settings(max_examples=40, deadline=None)
@given(RUNS)
def test_any_run_is_read_back_equal_and_fits_the_schema(run: RunReport) -> None:
    text = JsonReporter().render(run)
    assert load(text, "run.json") == run
    assert JsonReporter().render(load(text, "run.json")) == text
    VALIDATOR.validate(json.loads(text))


def test_whole_numbers_stay_whole_and_fractions_stay_fractions() -> None:
    values = (2**63 + 1, 2.0)
    guard = replace(reports.PASSING, measurements=tuple(Measurement("m", "u", value) for value in values))
    (read,) = load(JsonReporter().render(reports.report(guard)), "run.json").guards
    assert [repr(measurement.value) for measurement in read.measurements] == ["9223372036854775809", "2.0"]


def test_what_follows_from_the_verdicts_is_written_out() -> None:
    written = saved(reports.MIXED)
    assert written["schema_version"] == "1.0"
    assert written["exit_code"] == 1
    assert written["counts"] == {"pass": 1, "fail": 1, "undecided": 1, "skipped": 1, "error": 1}
    assert [guard["status"] for guard in written["guards"]] == [
        "pass",
        "skipped",
        "undecided",
        "error",
        "fail",
    ]


def test_the_schema_is_valid_and_describes_its_fields() -> None:
    Draft202012Validator.check_schema(schema())
    guard = schema()["$defs"]["GuardResult"]
    assert guard["properties"]["line"]["description"] == "Line of the guard in the guards file."
    assert set(guard["required"]) == set(guard["properties"])


@pytest.mark.parametrize("name", reports.ALL)
def test_every_saved_run_fits_the_schema(name: str) -> None:
    VALIDATOR.validate(saved(reports.ALL[name]))


@pytest.mark.parametrize(
    "path", [("counts",), ("guards", 0, "status"), ("guards", 0, "verdicts", 0, "sentence")]
)
def test_the_schema_refuses_a_run_that_lacks_a_key(path: tuple[str | int, ...]) -> None:
    written = part = saved(reports.MIXED)
    for step in path[:-1]:
        part = part[step]
    del part[path[-1]]
    assert not VALIDATOR.is_valid(written)


@pytest.mark.parametrize(
    ("lossy", "shown"),
    [
        ({"value": float("nan")}, "nan"),
        ({"value": float("-inf")}, "-inf"),
        ({"interval": (1.0, float("inf"))}, "inf"),
        ({"samples": (1.0, float("nan"), float("nan"))}, "nan"),
    ],
)
def test_a_measurement_with_a_number_that_json_lacks_is_saved_as_not_known(
    lossy: dict[str, Any], shown: str
) -> None:
    measurement = replace(Measurement("latency", "µs", 2.0, samples=(2.0,), interval=(1.0, 3.0)), **lossy)
    guard = replace(reports.PASSING, measurements=(measurement,), warnings=())
    text = JsonReporter().render(reports.report(guard))
    (read,) = load(text, "run.json").guards
    assert read.measurements == (Measurement("latency", "µs", None),)
    assert read.warnings == (f"latency is saved as not known: {shown} cannot be written in JSON",)
    VALIDATOR.validate(json.loads(text, parse_constant=pytest.fail))


def test_a_verdict_on_an_infinite_number_keeps_its_status_and_sentence() -> None:
    verdict = Verdict(
        Status.FAIL, "above-ceiling", "inf µs", measured=float("inf"), bound="at most 1", excess=float("inf")
    )
    guard = replace(reports.FAILING, verdicts=(verdict,))
    (read,) = load(JsonReporter().render(reports.report(guard)), "run.json").guards
    assert read.verdicts == (replace(verdict, measured=None, excess=None),)


def test_half_a_surrogate_pair_is_replaced() -> None:
    guard = replace(reports.PASSING, title="file \udc80")
    (read,) = load(JsonReporter().render(reports.report(guard)), "run.json").guards
    assert read.title == "file ?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n", "the file is empty"),
        ("[" * 100_000, "not valid JSON"),
        ('{"seconds": NaN}', "not valid JSON (NaN is not a finite number)"),
        ('{"seconds": 1e999}', "not valid JSON (1e999 is not a finite number)"),
        ("[]", "schema_version is missing"),
        ("{}", "schema_version is missing"),
        ('{"schema_version": 1.0}', "schema_version is 1.0"),
        ('{"schema_version": "2.0"}', "schema_version is '2.0': read it with the guardrail that wrote it"),
        ('{"schema_version": "10.0"}', "schema_version is '10.0'"),
        ('{"schema_version": "1.0"}', "guards_file: Field required; guards: Field required"),
    ],
)
def test_what_is_no_report_is_refused_with_the_file_and_the_reason(text: str, expected: str) -> None:
    message = fault(text)
    assert message.startswith(f"old.json: {expected}")
    assert message.endswith("expected a report as guardrail writes it in JSON, in format 1.x")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_a_truncated_report_is_refused(share: float) -> None:
    text = JsonReporter().render(reports.MIXED)
    assert fault(text[: int(len(text) * share)]).startswith("old.json: not valid JSON")


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (
            lambda run: run["guards"][4].update(status="pass"),
            'guards[4].status is "pass", but the rest of the report gives "fail"',
        ),
        (lambda run: run.update(exit_code=0), "exit_code is 0, but the rest of the report gives 1"),
        (lambda run: run.update(exit_code=True), "exit_code is true, but the rest of the report gives 1"),
        (lambda run: run["counts"].update(fail=0), "counts.fail is 0, but the rest of the report gives 1"),
        (lambda run: run["guards"][0].pop("warnings"), "guards[0].warnings is missing"),
        (lambda run: run["guards"][0].update(note=""), "guards[0].note is not a key of this format"),
        (lambda run: run["guards"][0].pop("verdicts"), "guards.0.verdicts: Field required"),
        (lambda run: run["guards"][0].update(line="7"), "guards.0.line: Input should be a valid integer"),
        (
            lambda run: run["guards"][0]["verdicts"][0].update(status="passed"),
            "guards.0.verdicts.0.status: Input should be",
        ),
        (lambda run: run.update(guards=dict.fromkeys("abcdefg")), "guards: Input should be a valid"),
    ],
)
def test_an_edited_report_is_refused_with_the_place(edit: Callable[[Any], object], expected: str) -> None:
    written = saved(reports.MIXED)
    edit(written)
    assert fault(json.dumps(written)).startswith(f"old.json: {expected}")


def test_many_faults_are_cut_to_five_and_counted() -> None:
    written = saved(reports.ALL["long"])
    for guard in written["guards"][:9]:
        del guard["id"]
    message = fault(json.dumps(written))
    assert message.count("Field required") == 5
    assert "; and 4 more;" in message


def test_keys_of_a_later_minor_version_are_left_out() -> None:
    written = saved(reports.MIXED) | {"schema_version": "1.7", "mood": "calm"}
    written["guards"][0]["owner"] = "kernels"
    assert load(json.dumps(written), "new.json") == reports.MIXED
