"""Running pairs until the verdict is clear, as a generator."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from guardrail.ab.arm import Arm
from guardrail.ab.comparison import Comparison, Pair, Run, Spoiled
from guardrail.ab.judge import is_settled, judge
from guardrail.ab.plan import Plan
from guardrail.ab.terms import Terms
from guardrail.errors import MeasurementError, UndecidedError
from guardrail.stats.replays import find_replays

RunArm = Callable[[Arm], Run]


def compare(
    plan: Plan, run_arm: RunArm, clock: Callable[[], float] = time.monotonic
) -> Iterator[Pair | Comparison]:
    """Run the arms in pairs, A first in one and B first in the next, until the verdict is clear.

    The pairs are judged at the looks of the plan alone: a look whose moment the speed of the arms chose would
    not keep its confidence.

    Args:
        plan: The comparison.
        run_arm: Runs an arm once.
        clock: Seconds that pass.

    Yields:
        Each pair as it ends, and the comparison last.

    Raises:
        MeasurementError: A run fails, did other work, or is a copy of another; or the budget ends before the
            first look.
    """
    start = clock()
    for _ in range(plan.warmup):
        run_arm(plan.a)
        run_arm(plan.b)
    looks = plan.looks
    pairs: list[Pair] = []
    last: Comparison | None = None
    for size in looks.sizes:
        while len(pairs) < size:
            if clock() - start > plan.budget:
                yield _out_of_budget(plan, pairs, last, looks.confidence)
                return
            pairs.append(_pair(plan, len(pairs) + 1, run_arm))
            _require_comparable(pairs)
            yield pairs[-1]
        last = judge(plan, pairs, looks.confidence, f"{size} pairs are all that may be taken")
        if is_settled(last):
            break
    if last is not None:
        yield last


def _pair(plan: Plan, number: int, run_arm: RunArm) -> Pair:
    if number % 2:
        a = run_arm(plan.a)
        return Pair(number, "A", a, run_arm(plan.b))
    b = run_arm(plan.b)
    return Pair(number, "B", run_arm(plan.a), b)


def _out_of_budget(
    plan: Plan, pairs: Sequence[Pair], last: Comparison | None, confidence: float
) -> Comparison:
    """Report the last look: what came after it was measured, and not planned to be judged."""
    ended = f"the budget of {plan.budget:g} s ended after {len(pairs)} pairs"
    if last is None:
        first = plan.looks.sizes[0]
        raise MeasurementError(f"{ended}, before the first look at {first}; give --budget more")
    return judge(plan, pairs[: last.pairs], confidence, ended)


def _require_comparable(pairs: Sequence[Pair]) -> None:
    """Refuse runs that did other work than the first one, and copies of earlier runs."""
    runs = [
        (f"arm {side}, pair {pair.number}", run)
        for pair in pairs
        for side, run in (("A", pair.a), ("B", pair.b))
    ]
    expected = pairs[0].a.workload
    for name, run in runs[-2:]:
        for key in {**expected, **run.workload}:
            was, now = expected.get(key), run.workload.get(key)
            if was != now:
                raise MeasurementError(
                    f"{name}: {key} is {now!r}, in the first run it was {was!r}; only like can be compared"
                )
    if replays := find_replays([run.times for _, run in runs]):
        copy, first = runs[replays[0].run][0], runs[replays[0].first][0]
        raise MeasurementError(f"{copy} repeats {first} time for time: it is a copy and no measurement")
