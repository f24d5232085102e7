import json

import pytest

from guardrail.adapters import subject_arms
from guardrail.adapters.subject_arms import find_subject_arm, require_covering, timed_windows
from guardrail.adapters.workers import plain_data
from guardrail.errors import MeasurementError, UsageError
from guardrail.families import Work
from guardrail.probes.timing_session import Place, Window, WindowPlan
from guardrail.records.task import Done, Environment, Failed
from helpers.subject_arms import SUBJECT, arm


def test_an_arm_is_found_on_a_case_with_some_axes_changed():
    found = find_subject_arm("q6k.served_matvec:v2_dpl", ("ffn-down-14b", "rows=512"), "--a")
    assert (str(found), found.operation.name) == ("q6k.served_matvec:v2_dpl", "served_matvec")
    assert (found.case_name, found.case) == ("ffn-down-14b rows=512", {"id": 13_824, "rows": 512})


@pytest.mark.parametrize(
    ("name", "case", "message"),
    [
        (
            "python bench.py",
            "x",
            r"--b python bench\.py: with --case an arm is named as family\.operation:arm",
        ),
        ("q6k.served_matvec", "x", r"--b q6k\.served_matvec: with --case an arm is named as"),
        ("q6k.served_matvec:", "x", r"--b q6k\.served_matvec:: with --case an arm is named as"),
        ("q6k.absent:v2", "x", "family q6k has no operation 'absent'"),
        ("q9k.matvec:v2", "x", "there is no family 'q9k'"),
        ("q6k.matvec:v2_pd", "x", r"matvec has no arm 'v2_pd'; did you mean 'v2_pf'\?"),
        ("q6k.matvec:v2", "x", "--case x: operation matvec has no such case .it has: lm-head-14b, ffn-down"),
    ],
)
def test_what_is_no_arm_or_case_is_refused(name, case, message):
    with pytest.raises(UsageError, match=message):
        find_subject_arm(name, (case,), "--b")


def test_sources_tell_operations_apart_and_arms_of_one_not():
    dense = find_subject_arm("q6k.served_matvec:v2", ("ffn-down-14b",), "--a")
    twin = find_subject_arm("q6k.served_matvec:v2_dpl", ("ffn-down-14b",), "--b")
    other = find_subject_arm("q6k.matvec:v2", ("ffn-down-14b",), "--b")
    assert len(dense.sources()) == 64
    assert dense.sources() == twin.sources() != other.sources()


def test_an_arm_that_leaves_work_undone_is_refused():
    require_covering([arm("short"), arm("padded", case="large")])
    with pytest.raises(UsageError) as caught:
        require_covering([arm("padded", case="large"), arm("short", case="large")])
    assert str(caught.value) == (
        f"{SUBJECT}:short does not cover case large completely; these arms do: padded"
    )


def recorded(reverse, spoilers=()):
    place = Place("A", "short", "cold", ("copy_short",), 32, 0, Work(1, 2, 3))
    value = {
        "reversed": reverse,
        "window": Window({}, (10.0,), (10.5,)),
        "places": (place,),
        "spoilers": spoilers,
        "seed": 7,
    }
    return Done(json.loads(json.dumps(value, default=plain_data)), 0.5)


@pytest.fixture
def worker(monkeypatch):
    """A worker that answers its tasks with recorded outcomes, and says how many it was asked for."""

    def answering(*outcomes):
        asked = []

        class Pool:
            def __init__(self, search_path, workers, *, interpreted):
                assert (workers, interpreted) == (1, False)

            def run(self, tasks):
                for at, task in enumerate(tasks):
                    asked.append(task)
                    yield at, outcomes[at]

        monkeypatch.setattr(subject_arms, "WorkerPool", Pool)
        return asked

    return answering


def test_windows_come_one_by_one_from_one_session(worker):
    asked = worker(recorded(False), recorded(True, ("The GPU is hot.",)), recorded(False))
    windows = timed_windows(WindowPlan(()), most=3, timeout=12.0)
    first, second = next(windows), next(windows)
    assert len(asked) == 2
    assert {task.arguments["session"] for task in asked} == {asked[0].arguments["session"]}
    assert (asked[0].environment, asked[0].timeout, asked[0].reusable) == (Environment.EXECUTE, 12.0, False)
    assert (first.reversed, first.spoilers, first.seconds, first.seed) == (False, (), 0.5, 7)
    assert (second.reversed, second.spoilers) == (True, ("The GPU is hot.",))
    assert first.places[0].work == Work(1, 2, 3)
    assert first.window == Window({}, (10.0,), (10.5,))
    assert len(list(windows)) == 1


def test_an_arm_that_computes_something_wrong_ends_the_session(worker):
    worker(recorded(False), Failed("the relative error of a timed call is 0.01"))
    windows = timed_windows(WindowPlan(()), most=3, timeout=12.0)
    next(windows)
    with pytest.raises(MeasurementError, match=r"the relative error of a timed call is 0\.01"):
        next(windows)
