import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from lxml import etree

from guardrail.records.report import RunReport
from guardrail.reporters.junit import JunitReporter
from helpers import reports
from helpers.random_reports import RUNS

SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parents[2] / "data" / "junit.xsd"))


def parsed(run: RunReport) -> ElementTree.Element:
    return ElementTree.fromstring(JunitReporter().render(run).encode())


def found(root: ElementTree.Element, path: str) -> ElementTree.Element:
    element = root.find(path)
    assert element is not None, path
    return element


@pytest.mark.parametrize("name", reports.ALL)
def test_every_run_fits_the_schema(name: str) -> None:
    SCHEMA.assertValid(etree.fromstring(JunitReporter().render(reports.ALL[name]).encode()))


@settings(max_examples=40, deadline=None)
@given(RUNS)
def test_any_run_is_well_formed_and_counts_as_its_exit_code(run: RunReport) -> None:
    root = etree.fromstring(JunitReporter().render(run).encode())
    SCHEMA.assertValid(root)
    assert (int(root.get("failures")) + int(root.get("errors")) == 0) is (run.exit_code == 0)


def test_the_schema_of_the_tests_refuses_two_outcomes() -> None:
    root = etree.fromstring(JunitReporter().render(reports.report(reports.FAILING)).encode())
    case = root.find(".//testcase")
    case.insert(0, etree.Element("error", type="second"))
    assert not SCHEMA.validate(root)


def test_suites_are_probes_and_their_counts_add_up() -> None:
    root = parsed(reports.MIXED)
    counts = [
        tuple(suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped"))
        for suite in root.iter("testsuite")
    ]
    assert counts == [
        ("resources", "1", "0", "0", "0"),
        ("decode", "2", "0", "1", "1"),
        ("numerics", "1", "0", "1", "0"),
        ("dispatch", "1", "1", "0", "0"),
    ]
    assert root.attrib == {
        "name": "guardrail",
        "tests": "5",
        "failures": "1",
        "errors": "2",
        "skipped": "1",
        "time": "93.400",
    }


def test_a_case_names_its_guard_and_its_line() -> None:
    assert found(parsed(reports.report(reports.FAILING)), ".//testcase").attrib == {
        "classname": "dispatch.q6k.mmvq",
        "name": "q6k-gate-covers",
        "time": "1.840",
        "file": "guards.yaml",
        "line": "3",
    }


def test_a_failure_carries_the_sentence_the_bound_and_all_evidence() -> None:
    failure = found(parsed(reports.report(reports.FAILING)), ".//failure")
    sentence = "the gate picks arms that drop 396288 of 3170304 units: dropped_units must be exactly 0"
    assert failure.attrib == {"type": "not-equal", "message": sentence}
    lines = (failure.text or "").splitlines()
    assert lines[:6] == [
        f"fail: {sentence}",
        "  metric: dropped_units",
        "  where: model qwen2.5-7b",
        "  measured: 396288 units",
        "  bound: exactly 0  (guards.yaml:8)",
        "  off by: 396288 units",
    ]
    assert len(lines) == 6 + 11


def test_an_error_is_an_error_and_undecided_is_an_error_of_its_own_type() -> None:
    root = parsed(reports.report(reports.ERRED, reports.UNDECIDED))
    assert [error.get("type") for error in root.iter("error")] == ["not-measured", "undecided"]
    assert root.find(".//failure") is None


def test_several_verdicts_are_one_failure_that_counts_the_others() -> None:
    first = reports.FAILING.verdicts[0]
    guard = replace(reports.FAILING, verdicts=(first, replace(first, sentence="again"), first))
    failures = list(parsed(reports.report(guard)).iter("failure"))
    assert [failure.get("message") for failure in failures] == [f"{first.sentence} (and 2 more)"]
    assert "fail: again" in (failures[0].text or "")


def test_a_skipped_case_gives_its_reason() -> None:
    skipped = found(parsed(reports.report(reports.SKIPPED)), ".//testcase/skipped")
    assert skipped.get("message") == "anchored to rtx3090, and this is h200"


def test_numbers_cache_and_warnings_are_in_the_output_of_a_case() -> None:
    root = parsed(reports.report(reports.PASSING, reports.UNDECIDED))
    passing, undecided = ((case.findtext("system-out") or "").splitlines() for case in root.iter("testcase"))
    assert passing == [
        "the decode kernel keeps its registers on every architecture",
        "spill_bytes (build h128, arch sm_90) = 0 bytes",
        "cached: every measurement is from an earlier run",
        "skipped: no assembler for this architecture is installed (build h128, arch sm_120)",
        "warning: the anchor was taken with triton 3.6.0, this run used 3.7.1",
    ]
    assert undecided[1] == (
        "tokens_per_second (device h200) = 692.125 tokens/s, interval 680.25 to 704.5, 3 samples"
    )


def test_properties_say_with_what_the_run_was_made() -> None:
    suite = found(parsed(reports.report(reports.PASSING)), "testsuite")
    assert {item.get("name"): item.get("value") for item in suite.iter("property")} == {
        "guardrail": "0.1.0",
        "command": "guardrail check",
        "python": "3.12.8",
        "device": "NVIDIA H200 (GPU-5a1c)",
        "commit": "0123abcd4567ef890123abcd4567ef890123abcd with changes",
        "torch": "2.13.0",
        "triton": "3.7.1",
        "TRITON_INTERPRET": "1",
    }
    warned = found(parsed(reports.ALL["warned"]), "testsuite")
    assert [item.get("value") for item in warned.iter("property") if item.get("name") == "warning"] == [
        "TRITON_DEBUG=1 compiles checks; unset TRITON_DEBUG"
    ]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("absent-profile", "absent-profile"),
        ("empty", "nothing-checked"),
        ("only-skipped", "nothing-checked"),
    ],
)
def test_a_run_that_is_red_without_a_red_guard_has_a_case_that_says_so(name: str, code: str) -> None:
    root = parsed(reports.ALL[name])
    case = found(root, "testsuite[@name='guardrail']/testcase")
    assert (case.get("name"), found(case, "error").get("type")) == (code, code)
    assert root.get("errors") == "1"


def test_control_characters_are_left_out_and_markup_is_text() -> None:
    root = parsed(reports.report(reports.HOSTILE))
    assert (root.findtext(".//system-out") or "").splitlines()[0] == (
        "[bold]größer[/bold] als 8 µs: 速度 | `tick` <b>&amp;</b> $(x) red"
    )
    assert found(root, ".//failure").get("message") == "100% slower, ::error::injected [/red] ]]> reversed"
