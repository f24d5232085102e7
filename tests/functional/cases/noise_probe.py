"""A probe that measures what its guard says, with an interval around it."""

from guardrail.families import Plan
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.records.measurement import Measurement, Metric
from guardrail.spec.guards import Guard


class NoiseGuard(Guard):
    low: float
    high: float


class NoiseProbe(Probe[NoiseGuard]):
    guard = NoiseGuard
    subjects = (Plan,)
    metrics = (Metric("rate", "units/s", "What the guard says."),)

    def measure(self, guard: NoiseGuard, subject: Plan, context: Context) -> Measuring:
        yield []
        middle = (guard.low + guard.high) / 2
        return [Measurement("rate", "units/s", middle, interval=(guard.low, guard.high))]
