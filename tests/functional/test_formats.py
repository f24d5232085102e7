import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
from lxml import etree

XSD = Path(__file__).parents[1] / "data" / "junit.xsd"


def failing(guardrail, *arguments, **environment):
    return guardrail("check", "--guards", "tiny.yaml", *arguments, TINY_REACH="12", **environment)


def test_a_json_report_matches_its_published_schema(guardrail):
    found = failing(guardrail, "--format", "json")
    report = json.loads(found.stdout)
    jsonschema.validate(report, json.loads(guardrail("schema", "report").stdout))
    assert (found.returncode, report["exit_code"], report["counts"]["fail"]) == (1, 1, 1)
    dropped = report["guards"][0]["verdicts"][1]
    assert (dropped["metric"], dropped["measured"], dropped["bound"], dropped["line"]) == (
        "dropped_units",
        5,
        "exactly 0",
        10,
    )
    assert report["provenance"]["knobs"]["TINY_REACH"] == "12"
    assert report["provenance"]["command"] == "guardrail check --guards tiny.yaml --format json"


def test_a_junit_report_matches_its_schema(guardrail):
    found = failing(guardrail, "--format", "junit")
    document = etree.fromstring(found.stdout.encode())
    etree.XMLSchema(file=str(XSD)).assertValid(document)
    assert [case.get("name") for case in document.iter("testcase") if case.find("failure") is not None] == [
        "tiny-gate"
    ]


def test_github_gets_annotations_and_a_summary(guardrail, folder):
    found = failing(guardrail, "--format", "github", GITHUB_STEP_SUMMARY=str(folder / "summary.md"))
    assert found.returncode == 1
    assert found.stdout.startswith(
        "::error file=tiny.yaml,line=9,title=tiny-gate::uncovered_units is 10 units"
    )
    assert "### fail: tiny-gate" in (folder / "summary.md").read_text()


def test_several_formats_of_one_run(guardrail, folder):
    formats = ("--format", "terminal", "--format", "json", "--format", "junit", "--format", "github")
    found = failing(guardrail, *formats, "--output", "run.json", "--output", "run.xml")
    assert found.returncode == 1
    assert found.stdout.startswith("::error ")
    assert found.stderr.startswith("guardrail ")
    assert json.loads((folder / "run.json").read_text())["exit_code"] == 1
    assert ElementTree.parse(folder / "run.xml").getroot().get("failures") == "1"


def test_nothing_is_printed_where_every_report_goes_to_a_file(guardrail):
    found = failing(guardrail, "--format", "json", "--output", "run.json")
    assert (found.returncode, found.stdout, found.stderr) == (1, "", "")


def test_a_second_run_is_cached_and_a_fresh_one_is_not(guardrail, tmp_path):
    def report(*arguments):
        found = guardrail(
            "check", "--guards", "tiny.yaml", "--only", "tiny-scratch", "--format", "json", *arguments,
            GUARDRAIL_CACHE_DIR=str(tmp_path / "own"),
        )  # fmt: skip
        return [guard["cached"] for guard in json.loads(found.stdout)["guards"]]

    assert [report(), report(), report("--fresh"), report()] == [[False], [True], [False], [True]]


def test_a_change_measures_again_only_what_depends_on_it(guardrail, folder, tmp_path):
    def cached():
        found = guardrail(
            "check", "--guards", "tiny.yaml", "--format", "json", GUARDRAIL_CACHE_DIR=str(tmp_path / "own")
        )
        return {guard["id"]: guard["cached"] for guard in json.loads(found.stdout)["guards"]}

    cached()
    with (folder / "tiny" / "plan.py").open("a") as plan:
        plan.write("# changed\n")
    assert cached() == {
        "tiny-gate": True,
        "tiny-numbers": True,
        "tiny-scratch": False,
        "tiny-scratch-alone": False,
    }
