"""Windows of one guard, as several runs would have measured them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from guardrail.reanchor.facts import Facts
from guardrail.reanchor.order import Order
from guardrail.reanchor.windows import Series, Window, collect_series
from guardrail.records.measurement import Measurement
from guardrail.records.report import GuardResult
from guardrail.records.verdict import Status, Verdict
from helpers.anchors import STATED, TREE
from helpers.fakes import loaded_guard

ORDER = Order("measurement", "first of its kind")
FACTS = Facts(TREE, {"decode": "cafe"}, ())
BOUND = {"slack": "2%", "anchor": {"h200": STATED}}


def result(value: float | None, **fields: Any) -> GuardResult:
    measurement = Measurement("rate", "tokens/s", value, {"device": "h200"})
    stated: dict[str, Any] = {
        "verdicts": (Verdict(Status.PASS, "holds", "rate holds", metric="rate"),),
        "measurements": (measurement,),
        "subject_hash": "cafe",
    }
    return GuardResult("decode", "t", "speed", "engine", 3, **stated | fields)


def windows(*values: float | None, **fields: Any) -> list[Window]:
    return [
        Window(f"window {number}", result(value, **fields), TREE) for number, value in enumerate(values, 1)
    ]


@pytest.fixture
def series() -> Callable[..., Series]:
    """Collect the only series of some windows."""

    def collect(
        *values: float | None, bound: Any = None, order: Order = ORDER, samples: Sequence[float] = ()
    ) -> Series:
        guard = loaded_guard({"rate": bound or BOUND}, "decode", probe="speed", subject="engine")
        (found,) = collect_series(guard, windows(*values), order, {"h200"})
        measured = tuple(replace(item, samples=tuple(samples)) for item in found.measurements)
        return replace(found, measurements=measured)

    return collect
