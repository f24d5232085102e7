import json
import subprocess
import sys

import pytest

from guardrail import __version__

DEVICE_LIBRARIES = "{'torch', 'triton', 'numpy', 'pydantic', 'vllm'}"


def test_the_version_is_the_package_s(guardrail):
    found = guardrail("--version")
    assert (found.returncode, found.stdout, found.stderr) == (0, f"guardrail {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [("--help",), ("-h",), ("check", "--help"), ("list", "--help"), ("cache", "-h")]
)
def test_help_is_printed(guardrail, arguments):
    found = guardrail(*arguments)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.lstrip().startswith("Usage: ")


def test_help_names_every_command(guardrail):
    printed = guardrail("--help").stdout
    assert all(f" {name} " in printed for name in ("check", "resources", "kv", "list", "schema", "cache"))


def test_help_imports_no_device_library():
    code = f"import sys; import guardrail.cli.main; print(sorted({DEVICE_LIBRARIES} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


@pytest.mark.parametrize(
    "arguments", [("chekc",), ("check", "--no-such-option"), ("list", "kernels"), ("schema", "x")]
)
def test_an_unknown_word_is_a_usage_error(guardrail, arguments):
    found = guardrail(*arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert "Traceback" not in found.stderr


def test_guards_are_listed(guardrail):
    found = guardrail("list", "guards", "--guards", "tiny.yaml")
    assert (found.returncode, found.stderr) == (0, "")
    rows = [line.rstrip().split(maxsplit=3) for line in found.stdout.splitlines()]
    assert rows[0] == ["id", "probe", "subject", "what holds"]
    assert [row[0] for row in rows[1:]] == ["tiny-gate", "tiny-numbers", "tiny-scratch", "tiny-scratch-alone"]
    assert rows[1][1:3] == ["dispatch", "tiny.manifest:FAMILY.pick"]


def test_a_guards_file_that_is_missing_cannot_be_listed(guardrail):
    found = guardrail("list", "guards")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("guardrail: guards.yaml: there is no such file")


@pytest.mark.parametrize(
    ("what", "row"),
    [
        ("subjects", ["q6k.mmvq", "gate", "dispatch"]),
        ("metrics", ["noise", "rate", "units/s"]),
        ("profiles", ["device", "h200"]),
        ("profiles", ["model", "qwen2.5-7b"]),
    ],
)
def test_what_there_is_is_listed(guardrail, what, row):
    found = guardrail("list", what)
    assert (found.returncode, found.stderr) == (0, "")
    assert row in [line.split()[: len(row)] for line in found.stdout.splitlines()]


@pytest.mark.parametrize(
    ("document", "title"), [((), "guardrail guards file"), (("report",), "guardrail report")]
)
def test_a_schema_is_printed(guardrail, document, title):
    found = guardrail("schema", *document)
    assert (found.returncode, json.loads(found.stdout)["title"]) == (0, title)


def test_the_cache_is_described_and_emptied(guardrail, tmp_path):
    own = {"GUARDRAIL_CACHE_DIR": str(tmp_path / "own")}
    assert guardrail("cache", **own).stdout == f"{tmp_path / 'own'}: 0 measurements, 0 KiB\n"
    assert guardrail("check", "--guards", "tiny.yaml", "--only", "tiny-scratch", **own).returncode == 0
    assert guardrail("cache", **own).stdout.startswith(f"{tmp_path / 'own'}: 2 measurements, ")
    assert guardrail("cache", "--clear", **own).stdout.startswith(
        f"{tmp_path / 'own'}: removed 2 measurements, "
    )
    assert guardrail("cache", **own).stdout == f"{tmp_path / 'own'}: 0 measurements, 0 KiB\n"


def test_a_cache_that_cannot_be_written_does_not_matter(guardrail, folder):
    found = guardrail(
        "check",
        "--guards",
        "tiny.yaml",
        "--only",
        "tiny-scratch",
        GUARDRAIL_CACHE_DIR=str(folder / "tiny.yaml"),
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_debug_shows_where_an_error_comes_from_and_keeps_its_code(guardrail):
    found = guardrail("--debug", "check", "--guards", "gone.yaml")
    assert found.returncode == 2
    assert "Traceback" in found.stderr
    assert "guardrail: gone.yaml: there is no such file" in found.stderr


def test_a_bug_is_one_line_and_never_the_code_of_a_failed_guard(guardrail, folder):
    probe = folder / "noise_probe.py"
    probe.write_text(probe.read_text() + "\n    def __init__(self):\n        raise LookupError('a bug')\n")
    found = guardrail("list", "metrics")
    assert (found.returncode, found.stdout) == (3, "")
    assert (
        found.stderr == "guardrail: LookupError: a bug. This is a bug; 'guardrail --debug ...' shows where\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("schema", "gard"), "Invalid value for 'document': 'gard' is not one of 'guards', 'report'."),
        (
            ("reanchor", "tiny-gate", "--class", "nope", "--reason", "why"),
            "Invalid value for '--class': 'nope' is not one of 'correctness-fix', 'optimisation', "
            "'environment', 'measurement'.",
        ),
    ],
)
def test_a_value_that_is_no_choice_is_told_the_choices(guardrail, arguments, message):
    found = guardrail(*arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert message in " ".join(found.stderr.replace("│", " ").split())
