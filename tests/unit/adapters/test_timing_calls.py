import pytest

from guardrail.adapters.timing_calls import Call, check_launches, split_calls
from guardrail.errors import MeasurementError
from guardrail.records.launch import Launch, Trace, WorkKind


def launch(name, start_us, duration_us):
    return Launch(name, WorkKind.KERNEL, duration_us * 1e3, start_us * 1e3)


def trace(*launches):
    return Trace("kineto", "test", launches)


def test_a_trace_is_divided_at_its_marks_and_what_came_before_is_left_out():
    calls = split_calls(
        trace(
            launch("guardrail_lead_in", 0, 1),
            launch("guardrail_mark", 2, 1),
            launch("attend", 4, 10),
            launch("reduce", 15, 5),
            launch("guardrail_mark", 21, 1),
            launch("attend", 23, 12),
        ),
        expected=2,
    )
    assert [call.names for call in calls] == [("attend", "reduce"), ("attend",)]
    assert [(call.busy_us, call.span_us) for call in calls] == [(15.0, 16.0), (12.0, 12.0)]


def test_time_in_which_two_kernels_overlap_counts_once():
    call = Call((launch("one", 0, 10), launch("other", 6, 2), launch("third", 7, 8)))
    assert (call.busy_us, call.span_us) == (15.0, 15.0)


@pytest.mark.parametrize("expected", [1, 3])
def test_a_lost_mark_is_an_error_and_no_number(expected):
    marks = trace(launch("guardrail_mark", 0, 1), launch("guardrail_mark", 2, 1))
    with pytest.raises(MeasurementError, match=f"the profiler saw 2 calls of {expected}"):
        split_calls(marks, expected)


def test_kernels_beside_the_expected_ones_are_let_pass():
    call = Call((launch("fill", 0, 1), launch("attend", 1, 1), launch("reduce", 2, 1)))
    check_launches("case, arm", [call, call], ["attend", "reduce"])


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([("attend",)], "case, arm: a call ran attend, where attend, reduce was expected"),
        ([("reduce", "attend")], "case, arm: a call ran reduce, attend, where attend, reduce was expected"),
        ([()], "case, arm: a call ran nothing, where attend, reduce was expected"),
        (
            [("attend", "reduce"), ("attend", "reduce", "copy")],
            "case, arm: a call ran attend, reduce, copy, where attend, reduce was expected",
        ),
    ],
)
def test_a_call_that_ran_something_else_is_an_error(names, sentence):
    calls = [Call(tuple(launch(name, at, 1) for at, name in enumerate(of))) for of in names]
    with pytest.raises(MeasurementError) as error:
        check_launches("case, arm", calls, ["attend", "reduce"])
    assert str(error.value) == sentence
