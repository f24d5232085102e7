"""When to stop measuring: windows are added until every bound is clear, or the budget ends."""

import time
from collections.abc import Callable, Sequence

from guardrail.probes.timing_results import measurements
from guardrail.probes.timing_session import Place, Session, TimingPlan, Window, steady_windows
from guardrail.records.device_state import DeviceState
from guardrail.records.measurement import Unmeasured
from guardrail.stats.sequential import Looks, is_clear, plan_looks

MOST_WINDOWS = 60
_WARM_SECONDS = (0.3, 3.0)
"""Least and most time to wait for the clocks to settle."""
_SETTLED_SAMPLES = 4
_SETTLED_WITHIN = 0.01

Sample = Callable[[], DeviceState]
Spoilers = Callable[[DeviceState, DeviceState], Sequence[str]]
Clock = Callable[[], float]


def warm_up(run: Callable[[], object], sample: Sample, clock: Clock = time.monotonic) -> None:
    """Run something until the SM clock has stopped moving, or for three seconds.

    Args:
        run: Launches work; the clock is sampled while it runs.
        sample: Reads the state of the GPU.
        clock: Seconds.
    """
    least, most = (clock() + seconds for seconds in _WARM_SECONDS)
    seen: list[int] = []
    while clock() < most:
        run()
        seen.append(sample().sm_clock_mhz or 0)
        latest = seen[-_SETTLED_SAMPLES:]
        moves = max(latest) - min(latest) > _SETTLED_WITHIN * max(latest)
        if len(latest) == _SETTLED_SAMPLES and not moves and clock() >= least:
            return


def collect(
    plan: TimingPlan,
    places: tuple[Place, ...],
    run_window: Callable[[], Window],
    sample: Sample,
    spoilers: Spoilers,
    seed: int,
    clock: Clock = time.monotonic,
) -> Session:
    """Measure windows until the verdict on every bound is clear or the budget ends.

    Args:
        plan: What is timed and which numbers it must be told from.
        places: What the windows' times are of.
        run_window: Measures one window.
        sample: Reads the state of the GPU, before and after each.
        spoilers: Says what between two states makes a window worthless.
        seed: Seed of the inputs.
        clock: Seconds.

    Returns:
        The windows that nothing spoiled, without the steady arm's places.
    """
    looks = plan_looks(plan.confidence, MOST_WINDOWS)
    deadline = clock() + plan.budget_seconds
    kept: list[Window] = []
    spoiled: list[str] = []
    while True:
        before = sample()
        window = run_window()
        if reasons := spoilers(before, sample()):
            spoiled.append(reasons[0])
        else:
            kept.append(window)
        session = _session(plan, places, kept, spoiled, looks, seed)
        over = clock() >= deadline or len(kept) >= MOST_WINDOWS
        if over or (not reasons and len(kept) in looks.sizes and _is_decided(session, plan)):
            return session


def _session(
    plan: TimingPlan,
    places: tuple[Place, ...],
    kept: Sequence[Window],
    spoiled: Sequence[str],
    looks: Looks,
    seed: int,
) -> Session:
    steady = [at for at, place in enumerate(places) if plan.steady.get(place.case) == place.arm]
    judged = [at for at in range(len(places)) if at not in steady]
    stands = steady_windows(kept, steady, plan.steady_within)
    moved = stands.count(False) * [f"the steady arm was more than {plan.steady_within:.1%} off its median"]
    windows = tuple(
        Window(
            window.rates,
            tuple(window.busy_us[at] for at in judged),
            tuple(window.span_us[at] for at in judged),
        )
        for window, stood in zip(kept, stands, strict=True)
        if stood
    )
    chosen = tuple(places[at] for at in judged)
    return Session(chosen, windows, (*spoiled, *moved), looks.confidence, seed)


def _is_decided(session: Session, plan: TimingPlan) -> bool:
    """Tell whether more windows would change no verdict: no bound lies inside its interval."""
    for item in measurements(session, device=""):
        if isinstance(item, Unmeasured):
            if item.undecided:
                return False
        elif item.interval is not None:
            limits = plan.limits.get(item.metric, ())
            if not all(is_clear(item.interval, limit) for limit in limits):
                return False
    return True
