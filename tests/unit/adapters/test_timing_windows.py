import itertools

from guardrail.adapters.timing_windows import MOST_WINDOWS, collect, warm_up
from guardrail.probes.timing_session import Window
from guardrail.records.device_state import DeviceState
from guardrail.stats.sequential import plan_looks
from helpers import timing

LOOKS = plan_looks(timing.CONFIDENCE, MOST_WINDOWS)
IDLE = DeviceState(0.0)
PADDED = timing.place()


class FakeGpu:
    """Windows of given times, each taking a second of a clock that stands still otherwise."""

    def __init__(self, times_us, spoiled=(), steady_us=()):
        self._times = itertools.cycle(times_us)
        self._steady = itertools.cycle(steady_us) if steady_us else None
        self._spoiled = set(spoiled)
        self.windows = 0

    def run_window(self):
        self.windows += 1
        times = (next(self._times), *([next(self._steady)] if self._steady else []))
        return Window({"dram_read": 4e12}, times, times)

    def spoilers(self, before, after):
        return ["The GPU is hot."] if self.windows in self._spoiled else []

    def clock(self):
        return float(self.windows)


def collected(gpu, limits, places=(PADDED,), **keys):
    plan = timing.plan(limits=limits, **keys)
    return collect(plan, places, gpu.run_window, lambda: IDLE, gpu.spoilers, 7, gpu.clock)


def test_windows_stop_at_the_first_look_where_every_bound_is_clear():
    gpu = FakeGpu([2.0, 2.1])
    found = collected(gpu, {"time": (3.0,)}, budget_seconds=100.0)
    assert (len(found.windows), gpu.windows) == (LOOKS.sizes[0], LOOKS.sizes[0])
    assert (found.confidence, found.seed, found.discarded) == (LOOKS.confidence, 7, ())


def test_windows_are_added_while_a_bound_lies_inside_its_interval():
    gpu = FakeGpu([2.0, 4.0])
    assert len(collected(gpu, {"time": (3.0,)}, budget_seconds=1000.0).windows) == MOST_WINDOWS


def test_the_budget_ends_what_stays_unclear():
    gpu = FakeGpu([2.0, 4.0])
    assert len(collected(gpu, {"time": (3.0,)}, budget_seconds=25.0).windows) == 25


def test_spoiled_windows_are_left_out_and_counted():
    gpu = FakeGpu([2.0], spoiled=[1, 3])
    found = collected(gpu, {"time": (3.0,)}, budget_seconds=100.0)
    assert len(found.windows) == LOOKS.sizes[0]
    assert (gpu.windows, found.discarded) == (LOOKS.sizes[0] + 2, ("The GPU is hot.",) * 2)


def test_a_gpu_that_spoils_every_window_ends_with_the_budget_and_none():
    gpu = FakeGpu([2.0], spoiled=range(100))
    found = collected(gpu, {"time": (3.0,)}, budget_seconds=8.0)
    assert (found.windows, len(found.discarded)) == ((), 8)


def test_windows_in_which_the_steady_arm_moved_are_left_out_and_its_own_place_too():
    gpu = FakeGpu([2.0], steady_us=[1.0] * 9 + [1.1])
    places = (timing.place(), timing.place(arm="steady"))
    found = collected(
        gpu, {"time": (3.0,)}, places, budget_seconds=30.0, steady={"large": "steady"}, steady_within=0.05
    )
    assert [place.arm for place in found.places] == ["padded"]
    assert all(window.busy_us == (2.0,) for window in found.windows)
    moved = gpu.windows // 10
    assert found.discarded == ("the steady arm was more than 5.0% off its median",) * moved


def test_warming_up_ends_when_the_clock_has_settled():
    clocks = iter([345, 900, 1500, 1965, 1980, 1980, 1980, 1980])
    seconds = itertools.count(0.0, 0.1)
    runs = []
    warm_up(lambda: runs.append(1), lambda: DeviceState(0.0, next(clocks)), lambda: next(seconds))
    assert len(runs) == 7


def test_warming_up_ends_after_three_seconds_of_a_restless_clock():
    clocks = itertools.cycle([1000, 1980])
    seconds = itertools.count(0.0, 0.25)
    runs = []
    warm_up(lambda: runs.append(1), lambda: DeviceState(0.0, next(clocks)), lambda: next(seconds))
    assert 10 <= len(runs) <= 12
