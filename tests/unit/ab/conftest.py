"""Plans and runs for comparisons that run nothing."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from guardrail.ab.arm import Arm
from guardrail.ab.comparison import Run
from guardrail.ab.criterion import parse_criterion
from guardrail.ab.plan import Plan

ACCEPT = (parse_criterion("B/A <= 0.996", "--accept"),)
VETO = (parse_criterion("B/A >= 1.004", "--veto"),)


def make_plan(**changes: object) -> Plan:
    stated: dict[str, object] = {
        "a": Arm("A", ("bench",)),
        "b": Arm("B", ("bench",), {"KNOB": "1"}),
        "metric": "ms",
        "accept": ACCEPT,
        "veto": VETO,
        "warmup": 0,
    }
    return Plan(**{**stated, **changes})  # type: ignore[arg-type]


def make_run(value: float, **stated: object) -> Run:
    controls = stated.pop("controls", {})
    values = {"ms": value, **controls}  # type: ignore[dict-item]
    return Run(values, dict.fromkeys(values, "ms"), 0.1, **stated)  # type: ignore[arg-type]


@pytest.fixture
def scripted() -> Callable[[Sequence[Run], Sequence[Run]], Callable[[Arm], Run]]:
    """Answer each arm's runs in turn, and keep the order in which the arms ran."""

    def make(a: Sequence[Run], b: Sequence[Run]) -> Callable[[Arm], Run]:
        waiting: dict[str, Iterator[Run]] = {"A": iter(a), "B": iter(b)}
        order: list[str] = []

        def run(arm: Arm) -> Run:
            order.append(arm.side)
            return next(waiting[arm.side])

        run.order = order  # type: ignore[attr-defined]
        return run

    return make
