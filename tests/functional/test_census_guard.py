import json

import pytest

from guardrail.families import CensusRecord, Taken, dump_census

GUARDS = """
version: 1
guards:
  - id: run-census
    title: no batch that policy admits ran on the 2D arm
    probe: census
    subject: census.json
    control: sequence_rows.json
    require:
      eligible_2d: {equals: 0}
      breaches: {equals: 0}
"""

VERIFY = Taken(8, "3d", (), 66, True, 712)
PREFILL = Taken(1840, "2d", ("max_query_len_policy>16",), None, False, 4223)
SHORT = Taken(9, "2d", ("q_token_capacity_failed",), None, True, 16)


@pytest.fixture(autouse=True)
def census(folder):
    (folder / "guards.yaml").write_text(GUARDS)
    kept = CensusRecord((VERIFY, PREFILL))
    missed = CensusRecord((VERIFY, SHORT), breaches=16, degraded=True, first_breach={"tokens": 9})
    (folder / "census.json").write_text(dump_census(kept))
    (folder / "sequence_rows.json").write_text(dump_census(missed))


def test_a_run_that_missed_nothing_passes(guardrail):
    found = guardrail("check", "--format", "json")
    (guard,) = json.loads(found.stdout)["guards"]
    assert (found.returncode, guard["status"]) == (0, "pass")
    assert {item["metric"]: item["value"] for item in guard["measurements"]} == {
        "calls": 4935,
        "eligible_2d": 0,
        "breaches": 0,
        "stock_calls": 0,
    }


def test_a_run_that_missed_batches_fails_with_the_reason(guardrail, folder):
    (folder / "sequence_rows.json").rename(folder / "census.json")
    (folder / "sequence_rows.json").write_text((folder / "census.json").read_text())
    found = guardrail("check")
    assert found.returncode == 1
    assert "eligible_2d is 16 calls, must be exactly 0" in found.stdout
    assert "16 calls of 9 query tokens: q_token_capacity_failed" in found.stdout


def test_the_census_of_a_bad_run_is_the_control(guardrail, folder):
    assert guardrail("check", "--self-test").returncode == 0
    (folder / "sequence_rows.json").write_text((folder / "census.json").read_text())
    found = guardrail("check", "--self-test")
    assert found.returncode == 1
    assert "left eligible_2d, breaches green" in found.stdout


def test_a_saved_run_is_refused_for_another_census(guardrail, folder):
    assert guardrail("check", "--format", "json", "--output", "run.json").returncode == 0
    assert guardrail("check", "--from", "run.json").returncode == 0
    (folder / "census.json").write_text(dump_census(CensusRecord((PREFILL,))))
    assert guardrail("check", "--from", "run.json").returncode == 3


def test_a_census_that_is_missing_or_empty_is_no_pass(guardrail, folder):
    (folder / "census.json").write_text(dump_census(CensusRecord(())))
    assert guardrail("check").returncode == 3
    (folder / "census.json").unlink()
    found = guardrail("check")
    assert found.returncode == 2
    assert f"there is no file {folder}/census.json, and the probe measures files alone" in found.stderr
