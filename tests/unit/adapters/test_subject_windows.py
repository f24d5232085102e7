import pytest

pytest.importorskip("triton")

from guardrail.adapters import subject_windows
from guardrail.adapters.subject_windows import measure_window
from guardrail.probes.timing_session import Place, Window, WindowPlan
from guardrail.records.device_state import DeviceState


@pytest.fixture
def states(monkeypatch):
    """A session whose windows last between recorded states of the GPU."""
    monkeypatch.setattr(subject_windows, "_SESSIONS", {})

    def opened(*clocks):
        seen = iter([DeviceState(0.0, sm_clock_mhz=clock) for clock in clocks])
        windows = iter([Window({}, (time,), (time,)) for time in (10.0, 11.0, 12.0)])
        made = []

        def session(plan):
            made.append(plan)
            return subject_windows._Session(
                7, (Place("A", "x", "cold"),), lambda: next(windows), lambda: next(seen)
            )

        monkeypatch.setattr(subject_windows, "_opened", session)
        return made

    return opened


def test_a_session_is_prepared_once_and_its_order_alternates(states):
    made = states(*[1980] * 6)
    found = [measure_window(WindowPlan(()), "one") for _ in range(3)]
    assert len(made) == 1
    assert [each["reversed"] for each in found] == [False, True, False]
    assert [each["window"].busy_us for each in found] == [(10.0,), (11.0,), (12.0,)]
    assert [each["spoilers"] for each in found] == [()] * 3
    assert found[0]["seed"] == 7


def test_a_clock_that_moves_within_a_window_spoils_it(states):
    states(1980, 1500)
    (spoiler,) = measure_window(WindowPlan(()), "one")["spoilers"]
    assert spoiler.startswith("The SM clock went from 1980 to 1500 MHz")
