from pathlib import Path

from guardrail.compiled.file_subject import FileSubject
from guardrail.families import CensusRecord, Taken, dump_census
from guardrail.probes.census import CensusGuard, CensusProbe
from guardrail.probes.interface import Context
from guardrail.records.measurement import Unmeasured
from guardrail.spec.guards import Bound
from helpers.probing import by_metric, measured, sentences

GUARD = CensusGuard(
    id="g", title="t", probe="census", subject="census.json", require={"eligible_2d": Bound(equals=0)}
)


def census(path: Path, text: str):
    path.write_text(text)
    found, _ = measured(CensusProbe(), GUARD, FileSubject.read(path), Context({}, None, interpreted=True))
    return found


def test_the_calls_of_a_run_are_counted_with_what_it_missed(tmp_path):
    taken = (
        Taken(8, "3d", (), 66, True, 7),
        Taken(9, "2d", ("q_token_capacity_failed",), None, True, 2),
        Taken(10, "2d", (), None, True, 1),
        Taken(8, "stock", ("stock_alibi",), None, False, 4),
    )
    record = CensusRecord(taken, breaches=2, degraded=True, first_breach={"tokens": 9, "sequences": 1})
    found = by_metric(census(tmp_path / "census.json", dump_census(record)))
    assert {name: (item.value, item.inspected) for name, item in found.items()} == {
        "calls": (14, 14),
        "eligible_2d": (3, 14),
        "breaches": (2, 14),
        "stock_calls": (4, 14),
    }
    assert sentences(found["eligible_2d"]) == [
        "2 calls of 9 query tokens: q_token_capacity_failed",
        "1 calls of 10 query tokens: no reason stated",
    ]
    assert sentences(found["stock_calls"]) == ["4 calls of 8 query tokens: stock_alibi"]
    assert sentences(found["breaches"]) == ["first: tokens 9, sequences 1"]


def test_a_run_without_a_call_was_not_inspected(tmp_path):
    found = by_metric(census(tmp_path / "census.json", dump_census(CensusRecord(()))))
    assert [item.inspected for item in found.values()] == [0, 0, 0, 0]


def test_a_file_that_is_no_census_is_not_measured(tmp_path):
    (found,) = census(tmp_path / "census.json", "[]")
    assert found == Unmeasured(f"{tmp_path}/census.json: expected a census of version 1, written by a run")
