"""A probe that reads how fast its subject, a file, says it is."""

from pathlib import Path

from guardrail.compiled.file_subject import FileSubject
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.records.measurement import Measurement, Metric
from guardrail.spec.guards import Guard


class SpeedGuard(Guard):
    device: str | None = None


class SpeedProbe(Probe[SpeedGuard]):
    guard = SpeedGuard
    subjects = (FileSubject,)
    metrics = (Metric("rate", "tokens/s", "What the file says."),)

    def measure(self, guard: SpeedGuard, subject: FileSubject, context: Context) -> Measuring:
        yield []
        samples = tuple(float(word) for word in Path(subject.path).read_text().split())
        middle = sorted(samples)[len(samples) // 2]
        where = {"device": guard.device} if guard.device else {}
        return [
            Measurement(
                "rate", "tokens/s", middle, where, samples=samples, interval=(min(samples), max(samples))
            )
        ]
