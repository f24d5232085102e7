import json

import pytest

from guardrail.errors import MeasurementError
from guardrail.families import CensusRecord, Taken, dump_census, load_census

RECORD = CensusRecord(
    taken=(
        Taken(8, "3d", (), 66, True, 712),
        Taken(9, "2d", ("q_token_capacity_failed",), None, True, 16),
        Taken(1840, "2d", ("max_query_len_policy>16",), None, False, 4223),
    ),
    breaches=16,
    degraded=True,
    first_breach={"tokens": 9},
)


def test_a_census_is_read_back_as_it_was_written():
    assert load_census(dump_census(RECORD), "census.json") == RECORD


def test_calls_and_missed_calls_are_counted():
    assert (RECORD.calls, RECORD.eligible_2d, RECORD.missed) == (4951, 16, (RECORD.taken[1],))


def changed(**changes):
    return json.dumps(json.loads(dump_census(RECORD)) | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "census.json is not JSON"),
        ("[]", "census.json: expected a census of version 1, written by a run"),
        ("{}", "expected a census of version 1"),
        (changed(version=2), "expected a census of version 1"),
        (changed(extra=1), "holds something else"),
        (changed(taken=[{"query_len": 1}]), "holds something else"),
        (changed(taken=None), "holds something else"),
        (changed(breaches=-1), "counts must be whole numbers, 0 or more"),
        (changed(breaches="16"), "counts must be whole numbers, 0 or more"),
    ],
)
def test_what_is_no_census_is_refused(text, message):
    with pytest.raises(MeasurementError, match=message):
        load_census(text, "census.json")
