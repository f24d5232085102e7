"""Running two commands in pairs, as a generator."""

import itertools
import time
from collections.abc import Callable, Iterator

from guardrail.ab.arm import Arm
from guardrail.ab.comparison import Comparison, Pair, Run, Spoiled, Warmed
from guardrail.ab.decide import Clock, decide
from guardrail.ab.plan import Plan

RunArm = Callable[[Arm], Run]


def compare(
    plan: Plan, run_arm: RunArm, clock: Clock = time.monotonic
) -> Iterator[Warmed | Pair | Spoiled | Comparison]:
    """Run the arms in pairs, A first in one and B first in the next, until the verdict is clear.

    Args:
        plan: The comparison.
        run_arm: Runs an arm once.
        clock: Seconds that pass.

    Yields:
        That the arms are warm, each pair as it ends, and the comparison last.

    Raises:
        MeasurementError: A run fails, did other work, or is a copy of another; or the budget ends before the
            first look.
    """
    start = clock()
    for _ in range(plan.warmup):
        run_arm(plan.a)
        run_arm(plan.b)
    yield Warmed()
    yield from decide(plan, _pairs(plan, run_arm), start, clock)


def _pairs(plan: Plan, run_arm: RunArm) -> Iterator[Pair]:
    for number in itertools.count(1):
        if number % 2:
            a = run_arm(plan.a)
            yield Pair(number, "A", a, run_arm(plan.b))
        else:
            b = run_arm(plan.b)
            yield Pair(number, "B", run_arm(plan.a), b)
