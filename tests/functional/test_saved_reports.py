import json

import pytest

_MEASURED: dict[str, str] = {}


@pytest.fixture
def saved(guardrail, folder):
    """A report of the tiny guards, measured once and saved beside them."""
    if not _MEASURED:
        found = guardrail("check", "--guards", "tiny.yaml", "--format", "json")
        assert (found.returncode, found.stderr) == (0, "")
        _MEASURED["tiny"] = found.stdout
    path = folder / "run.json"
    path.write_text(_MEASURED["tiny"])
    return path


def again(guardrail, path="run.json", *arguments):
    return guardrail("check", "--guards", "tiny.yaml", "--from", path, *arguments)


def test_a_saved_report_is_judged_by_the_same_guards(guardrail, saved):
    found = again(guardrail)
    assert found.returncode == 0
    assert "judged again from run.json" in found.stdout.splitlines()[0]
    assert "4 guards: 4 pass" in found.stdout


def test_a_saved_report_is_judged_by_bounds_that_have_moved(guardrail, saved, folder):
    guards = folder / "tiny.yaml"
    guards.write_text(guards.read_text().replace("qwen2.5-14b: 256", "qwen2.5-14b: 128"))
    found = again(guardrail)
    assert found.returncode == 1
    assert "row_bytes (qwen2.5-14b) is 256 bytes, must be exactly 128" in found.stdout


def test_a_saved_report_measures_nothing(guardrail, saved, folder):
    found = guardrail(
        "check",
        "--guards",
        "tiny.yaml",
        "--from",
        "run.json",
        TINY_HANG=str(folder / "started"),
        TINY_REACH="12",
    )
    assert found.returncode == 0
    assert not (folder / "started").exists()


def test_sources_that_have_changed_make_what_depends_on_them_stale(guardrail, saved, folder):
    with (folder / "tiny" / "limits.py").open("a") as limits:
        limits.write("# changed\n")
    found = again(guardrail)
    assert found.returncode == 3
    stale = "run.json measured tiny.manifest:FAMILY.{} from other sources, or for another profile"
    assert [
        line.strip().partition(";")[0] for line in found.stdout.splitlines() if "other sources" in line
    ] == [
        stale.format("pick"),
        stale.format("double"),
    ]
    assert "4 guards: 2 pass, 2 error" in found.stdout


def test_a_stale_report_cannot_be_laundered_by_judging_it_twice(guardrail, saved, folder):
    with (folder / "tiny" / "limits.py").open("a") as limits:
        limits.write("# changed\n")
    assert again(guardrail, "run.json", "--format", "json", "--output", "second.json").returncode == 3
    assert again(guardrail, "second.json").returncode == 3


def test_a_guard_that_asks_for_something_else_is_stale(guardrail, saved, folder):
    guards = folder / "tiny.yaml"
    guards.write_text(guards.read_text().replace("FAMILY.double", "FAMILY.double\n    seeds: 2"))
    assert again(guardrail).returncode == 3


def test_a_failure_stays_one(guardrail, saved, folder):
    run = ("check", "--guards", "tiny.yaml", "--format", "json", "--output", "bad.json")
    assert guardrail(*run, TINY_REACH="12").returncode == 1
    assert again(guardrail, "bad.json").returncode == 1


def test_a_profile_that_was_absent_when_it_was_measured_still_is(guardrail, folder):
    run = (
        "check",
        "--guards",
        "tiny.yaml",
        "--require-profile",
        "h200",
        "--format",
        "json",
        "--output",
        "run.json",
    )
    assert guardrail(*run).returncode == 3
    found = again(guardrail)
    assert found.returncode == 3
    assert "required profiles that are not this machine's: h200" in found.stdout


def refused(found, message):
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(f"guardrail: {message}")
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "run.json: there is no such file; expected a report as guardrail writes it in JSON"),
        (b"", "run.json: the file is empty; expected a report"),
        (b"{" * 100_000, "run.json: not valid JSON"),
        (b"\xff\xfe\x00", "run.json: the file is not UTF-8 text; expected a report"),
        (b"version: 1\n", "run.json: not valid JSON"),
        (b"[]", "run.json: schema_version is missing"),
        (b'{"schema_version": "2.0"}', "run.json: schema_version is '2.0': "),
        (b'{"schema_version": "1.0"}', "run.json: "),
    ],
)
def test_what_is_no_saved_report_is_refused(guardrail, folder, content, message):
    if content is not None:
        (folder / "run.json").write_bytes(content)
    refused(again(guardrail), message)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda run: run["guards"][0].update(status="fail"),
        lambda run: run["guards"][0].pop("subject_hash"),
        lambda run: run.update(exit_code=1),
        lambda run: run["guards"][0]["measurements"][0].update(value="0"),
    ],
)
def test_a_report_that_was_tampered_with_is_refused(guardrail, saved, tamper):
    run = json.loads(saved.read_text())
    tamper(run)
    saved.write_text(json.dumps(run))
    refused(again(guardrail), "run.json: ")
