"""Running an arm once."""

import statistics
from pathlib import Path

from guardrail.ab.arm import Arm
from guardrail.ab.comparison import Run
from guardrail.ab.plan import Plan
from guardrail.adapters.commands import run_command
from guardrail.adapters.private_caches import Caches
from guardrail.errors import MeasurementError
from guardrail.results.interface import Series
from guardrail.results.readers import READERS


def run_arm(plan: Plan, arm: Arm, caches: Caches) -> Run:
    """Run an arm's command and read the compared metric and the controls.

    Raises:
        MeasurementError: The command fails, or a metric is missing or not positive.
    """
    environment = {**plan.shared, **arm.environment, **caches.variables(arm.side)}
    ran = run_command(arm.command, Path.cwd(), environment, plan.timeout)
    output = READERS[plan.reader](ran.text, f"arm {arm.side}")
    found = {selector: output.series(selector) for selector in (plan.metric, *plan.controls)}
    compared = found[plan.metric]
    return Run(
        values={selector: _value(arm, selector, series) for selector, series in found.items()},
        units={selector: series.unit or "" for selector, series in found.items()},
        seconds=ran.seconds,
        workload=compared.workload,
        notes=compared.notes,
        times=compared.times,
    )


def _value(arm: Arm, selector: str, series: Series) -> float:
    value = statistics.median(series.samples)
    if value <= 0:
        raise MeasurementError(f"arm {arm.side}: {selector} is {value:g}; a ratio needs a positive value")
    return value
