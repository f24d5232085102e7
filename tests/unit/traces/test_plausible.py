import math
import re
from dataclasses import replace

import pytest

from guardrail.errors import UsageError
from guardrail.records.launch import Launch, Trace, WorkKind
from guardrail.traces.plausible import require_plausible

_LAUNCH = Launch(
    "k", WorkKind.KERNEL, 0.0, grid=(1, 1, 1), block=(1, 1, 1), registers=0, shared_bytes=0, bytes=0
)


def test_the_least_that_a_launch_can_have_is_plausible():
    require_plausible(Trace("nsys", "r", (_LAUNCH, Launch("k", WorkKind.FILL, 1e18))))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"duration_ns": -1.0}, "'k' took -1 ns; expected 0 or more"),
        ({"duration_ns": math.nan}, "'k' took nan ns; expected 0 or more"),
        ({"duration_ns": 1e308}, "'k' took 1e+308 ns; expected 0 or more"),
        ({"block": (0, 1, 1)}, "the block of 'k' is (0, 1, 1); expected 1 or more on every axis"),
        ({"grid": (1, 1, -5)}, "the grid of 'k' is (1, 1, -5); expected 1 or more on every axis"),
        ({"registers": -5}, "registers of 'k' is -5; expected 0 or more"),
        ({"shared_bytes": -5}, "shared_bytes of 'k' is -5; expected 0 or more"),
        ({"bytes": -5}, "bytes of 'k' is -5; expected 0 or more"),
        ({"calls": 0}, "calls of 'k' is 0; expected 1 or more"),
        ({"counters": {"c": 1e308}}, "c of 'k' is 1e+308; expected a number of 64 bits"),
    ],
)
def test_a_figure_that_nothing_on_a_gpu_can_have_is_named(change, said):
    with pytest.raises(UsageError, match=re.escape(f"r: damaged: {said}")):
        require_plausible(Trace("nsys", "r", (_LAUNCH, replace(_LAUNCH, **change))))
