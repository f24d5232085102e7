import pickle
import sys
from pathlib import Path

import pytest

from guardrail.adapters import ncu_counters
from guardrail.errors import MeasurementError
from guardrail.records.launch import Launch, Trace, WorkKind
from helpers import timing


@pytest.fixture
def ncu(monkeypatch):
    """Stand in for ncu: keeps what it was asked, and answers with the launches that a test sets."""

    class Ncu:
        launches = ()

        def __call__(self, command, counters, options):
            with Path(command[-1]).open("rb") as file:
                self.path, self.request = pickle.load(file), pickle.load(file)
            self.command, self.counters, self.options = command[:-1], list(counters), list(options)
            return Trace("ncu", "test", self.launches)

    fake = Ncu()
    monkeypatch.setattr(ncu_counters, "profile_with_ncu", fake)
    return fake


@pytest.mark.parametrize(("cache", "control"), [("cold", "all"), ("hot", "none")])
def test_one_call_is_profiled_in_a_process_of_its_own(ncu, cache, control):
    ncu.launches = (Launch("copy", WorkKind.KERNEL, 1500.0, counters={"dram__bytes_read.sum": 64.0}),)
    found = ncu_counters.count(timing.OPERATION, {"elements": 8}, "padded", cache, ["dram__bytes_read.sum"])
    assert found == [{"duration_ns": 1500.0, "dram__bytes_read.sum": 64.0}]
    assert ncu.request == (timing.OPERATION, {"elements": 8}, "padded")
    assert ncu.path == sys.path
    assert ncu.command == [sys.executable, "-m", "guardrail.adapters.ncu_target"]
    assert ncu.counters == ["dram__bytes_read.sum"]
    assert ncu.options == ["--profile-from-start", "off", "--cache-control", control]


def test_a_call_of_which_ncu_saw_nothing_is_an_error(ncu):
    with pytest.raises(MeasurementError, match=r"ncu saw no kernel of copy, arm padded, {'elements': 8}"):
        ncu_counters.count(timing.OPERATION, {"elements": 8}, "padded", "cold", [])
