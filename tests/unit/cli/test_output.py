import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from guardrail.cli.output import SUMMARY_VARIABLE, Outputs
from guardrail.errors import UsageError
from helpers import reports

RUN = reports.ALL["mixed"]


def parsed(formats, *files):
    return Outputs.parse(formats.split(), [Path(file) for file in files])


@pytest.mark.parametrize(
    ("formats", "files", "message"),
    [
        ("xml", (), "--format xml: expected one of terminal, json, junit, github"),
        ("json json", (), "--format json is given twice"),
        ("terminal", ("a",), "--output a: no json or junit --format is left for it"),
        ("json github", ("a", "b"), "--output b: no json or junit --format is left for it"),
        ("json", ("gone/a",), "--output gone/a: there is no folder gone"),
        ("json", ("sub",), "--output sub: this is a folder, not a file"),
        ("json junit", ("a", "a"), "--output a is given twice"),
        ("json junit", (), "several reports would go to standard output"),
        ("json junit", ("a",), None),
        ("json github", (), "several reports would go to standard output"),
        ("json github", ("a",), None),
        ("terminal json", (), None),
        ("terminal github", (), None),
    ],
)
def test_formats_and_files_must_pair(tmp_path, monkeypatch, formats, files, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    if message is None:
        assert parsed(formats, *files).formats == tuple(formats.split())
    else:
        with pytest.raises(UsageError) as caught:
            parsed(formats, *files)
        assert str(caught.value).startswith(message)


def test_files_go_to_the_formats_in_their_order(tmp_path, capsys):
    parsed("junit terminal json", tmp_path / "x", tmp_path / "y").write(RUN)
    assert ElementTree.parse(tmp_path / "x").getroot().tag == "testsuites"
    assert json.loads((tmp_path / "y").read_text())["schema_version"] == "1.0"
    assert capsys.readouterr().out.startswith("guardrail ")


def test_a_report_on_standard_output_leaves_it_to_the_machine(capsys):
    parsed("terminal json").write(RUN)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["exit_code"] == RUN.exit_code
    assert captured.err.startswith("guardrail ")


def test_github_gets_annotations_and_a_summary_that_is_appended(tmp_path, monkeypatch, capsys):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv(SUMMARY_VARIABLE, str(summary))
    parsed("github").write(RUN)
    assert capsys.readouterr().out.startswith("::error ")
    assert summary.read_text().startswith("before\n## guardrail\n")


def test_a_summary_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(SUMMARY_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match=f"^{SUMMARY_VARIABLE} {tmp_path}: cannot write: Is a directory$"):
        parsed("github").write(RUN)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    outputs = parsed("json", tmp_path / "report")
    (tmp_path / "report").mkdir()
    with pytest.raises(UsageError, match=r"^--output .*report: cannot write: Is a directory$"):
        outputs.write(RUN)


@pytest.mark.parametrize("no_color", [None, "1"])
def test_colour_needs_a_terminal_and_no_objection(monkeypatch, capsys, no_color):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    else:
        monkeypatch.delenv("NO_COLOR", raising=False)
    parsed("terminal").write(RUN)
    assert ("\x1b[" in capsys.readouterr().out) is (no_color is None)
