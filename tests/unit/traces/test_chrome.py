import json
import math
from pathlib import Path

import pytest

from guardrail.errors import UsageError
from guardrail.records.launch import Launch, WorkKind
from guardrail.traces.chrome import chrome_trace, read_chrome_trace

TRACE = (Path(__file__).parents[2] / "data" / "traces" / "kineto.json").read_text()


def _events(*events):
    return read_chrome_trace(json.dumps({"traceEvents": list(events)}), "t.json")


def _kernel(**changes):
    return {
        "ph": "X",
        "cat": "kernel",
        "name": "k",
        "pid": 0,
        "tid": 7,
        "ts": 5.0,
        "dur": 1.0,
        "args": {},
    } | changes


def test_launches_come_in_the_order_of_their_start_with_all_that_kineto_tells():
    trace = read_chrome_trace(TRACE, "kineto.json")
    assert [launch.name for launch in trace.launches] == [
        "Memcpy HtoD (Pageable -> Device)",
        "attend",
        "void scale<float>(float*, int)",
        "Memset (Device)",
    ]
    assert trace.launches[1] == Launch(
        name="attend",
        kind=WorkKind.KERNEL,
        duration_ns=12500.0,
        start_ns=310000.0,
        grid=(64, 1, 1),
        block=(128, 1, 1),
        registers=168,
        shared_bytes=65536,
        stream=7,
        device=0,
        region="attention",
    )
    assert [(it.kind, it.bytes) for it in (trace.launches[0], trace.launches[3])] == [
        (WorkKind.COPY, 16000),
        (WorkKind.FILL, 4096),
    ]


def test_the_device_is_the_one_that_the_work_ran_on():
    trace = read_chrome_trace(TRACE, "kineto.json")
    assert (trace.tool, trace.device, trace.arch) == ("kineto", "NVIDIA H200", "sm_90")


def test_a_region_is_the_innermost_annotation_around_the_call_else_around_the_work_on_the_gpu():
    trace = read_chrome_trace(TRACE, "kineto.json")
    assert [launch.region for launch in trace.launches] == ["decode", "attention", "decode", "sampling"]


def test_launches_that_nothing_on_the_gpu_answers_to_are_counted():
    (note,) = read_chrome_trace(TRACE, "kineto.json").notes
    assert note.startswith("launches of the host without a kernel here: 1 (captured")


def test_a_trace_without_gpu_work_has_no_launches():
    assert _events({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}).launches == ()


def test_a_bare_list_of_events_is_a_trace():
    assert read_chrome_trace(json.dumps([_kernel(dur=2.5)]), "t.json").launches[0].duration_ns == 2500.0


def test_a_trace_that_breaks_off_is_refused_with_the_line():
    with pytest.raises(UsageError, match=r"t\.json:16: expected a complete Chrome trace.*record it again"):
        read_chrome_trace(TRACE[:1100], "t.json")


@pytest.mark.parametrize("text", ['{"a": 1}', '{"traceEvents": 3}', "[1, 2]", "3", "null"])
def test_json_that_is_no_trace_is_refused(text):
    with pytest.raises(UsageError, match=r"t\.json: expected a Chrome trace"):
        read_chrome_trace(text, "t.json")


@pytest.mark.parametrize("category", [[], {}, 5, None])
def test_an_event_of_an_odd_category_is_no_work(category):
    assert _events(_kernel(), _kernel(cat=category)).launches == _events(_kernel()).launches


@pytest.mark.parametrize("properties", ["abc", 5, ["abc"], [None]])
def test_damaged_properties_of_devices_are_refused(properties):
    with pytest.raises(UsageError, match=r"t\.json: damaged: expected 'deviceProperties' as a list"):
        chrome_trace({"traceEvents": [_kernel()], "deviceProperties": properties}, "t.json")


def test_a_damaged_correlation_is_refused():
    call = {
        "ph": "X",
        "cat": "cuda_runtime",
        "name": "cudaLaunchKernel",
        "ts": 1,
        "args": {"correlation": []},
    }
    with pytest.raises(UsageError, match="an annotation or a call of the host is damaged"):
        _events(_kernel(), call)


def test_a_damaged_annotation_is_refused():
    with pytest.raises(UsageError, match="an annotation or a call of the host is damaged"):
        _events(_kernel(), {"ph": "X", "cat": "user_annotation", "name": "a", "ts": [], "dur": 1})


@pytest.mark.parametrize(
    "broken",
    [
        {"dur": "soon"},
        {"dur": None},
        {"dur": 10**400},
        {"args": {"grid": [1, 2]}},
        {"args": {"bytes": math.inf}},
        {"ts": []},
    ],
)
def test_a_damaged_event_is_refused_by_name(broken):
    with pytest.raises(UsageError, match=r"t\.json: the event 'k' is damaged"):
        _events(_kernel(**broken))
