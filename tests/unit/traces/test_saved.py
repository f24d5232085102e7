import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardrail.errors import UsageError
from guardrail.records.launch import Launch, Trace, WorkKind
from guardrail.traces.saved import is_saved, plain_trace, restore_trace, saved_trace, to_json

_SIZES = st.integers(1, 2**31)
_LAUNCHES = st.builds(
    Launch,
    name=st.text(),
    kind=st.sampled_from(WorkKind),
    duration_ns=st.floats(0, 1e12),
    start_ns=st.none() | st.floats(0, 1e18),
    grid=st.none() | st.tuples(_SIZES, _SIZES, _SIZES),
    block=st.none() | st.tuples(_SIZES, _SIZES, _SIZES),
    registers=st.none() | st.integers(0, 255),
    stream=st.none() | st.integers(0, 9),
    region=st.text(),
    bytes=st.none() | st.integers(0),
    calls=st.integers(1, 9),
    counters=st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False), max_size=2),
)


@settings(max_examples=30)
@given(st.lists(_LAUNCHES, max_size=4), st.none() | st.text(), st.lists(st.text(), max_size=2))
def test_a_trace_survives_json(launches, device, notes):
    trace = Trace("ncu", "r.csv", tuple(launches), device, "sm_90", tuple(notes))
    assert restore_trace(json.loads(json.dumps(plain_trace(trace)))) == trace


def test_what_a_launch_does_not_tell_is_not_written():
    trace = Trace("nsys", "r", (Launch("k", WorkKind.KERNEL, 5.0),))
    assert plain_trace(trace)["launches"] == [{"name": "k", "kind": "kernel", "duration_ns": 5.0}]


def test_a_saved_profile_is_known_and_read_under_the_files_own_name():
    document = json.loads(to_json(Trace("nsys", "r", (Launch("k", WorkKind.KERNEL, 5.0),)), []))
    assert is_saved(document)
    assert saved_trace(document, "s.json") == Trace("nsys", "s.json", (Launch("k", WorkKind.KERNEL, 5.0),))


def test_another_version_and_damage_are_refused():
    document = json.loads(to_json(Trace("nsys", "r", ()), []))
    with pytest.raises(
        UsageError, match=r"s\.json: expected version 1 of a saved profile, and this one is 2"
    ):
        saved_trace(document | {"version": 2}, "s.json")
    with pytest.raises(UsageError, match=r"s\.json: a damaged profile \(trace: Input should be an object\)"):
        saved_trace({"format": "guardrail-profile", "version": 1}, "s.json")


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("tool", 5, "trace.tool"),
        ("device", 5, "trace.device"),
        ("launches", 5, "trace.launches"),
        ("notes", [None], "trace.notes.0"),
        ("song", 5, "trace.song"),
        ("name", None, "trace.launches.0.name"),
        ("kind", "song", "trace.launches.0.kind"),
        ("duration_ns", "abc", "trace.launches.0.duration_ns"),
        ("duration_ns", math.nan, "trace.launches.0.duration_ns"),
        ("registers", "abc", "trace.launches.0.registers"),
        ("block", [1, "abc", 1], "trace.launches.0.block.1"),
        ("block", [1, 1], "trace.launches.0.block.2"),
        ("calls", True, "trace.launches.0.calls"),
        ("counters", None, "trace.launches.0.counters"),
        ("counters", {"a": "b"}, "trace.launches.0.counters.a"),
    ],
)
def test_a_field_of_another_kind_is_named(field, value, place):
    document = json.loads(to_json(Trace("nsys", "r", (Launch("k", WorkKind.KERNEL, 5.0),)), []))
    trace = document["trace"]
    (trace["launches"][0] if "launches.0" in place else trace)[field] = value
    with pytest.raises(UsageError, match=rf"s\.json: a damaged profile \({re.escape(place)}: "):
        saved_trace(document, "s.json")


def test_a_field_that_is_missing_is_named():
    document = json.loads(to_json(Trace("nsys", "r", (Launch("k", WorkKind.KERNEL, 5.0),)), []))
    del document["trace"]["launches"][0]["name"]
    with pytest.raises(UsageError, match=r"\(trace\.launches\.0\.name: Field required\)"):
        saved_trace(document, "s.json")
