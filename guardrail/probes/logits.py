"""Probe ``logits``: an engine's first step against a reference engine, another mode and another batch."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from guardrail.families import Engine, Mode
from guardrail.logits.difference import Delta, compare_logits, delta_of, nonfinite_elements
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.logits_guard import AGAINST_REFERENCE, BETWEEN_BATCHES, LogitsGuard
from guardrail.probes.logits_runs import PAIR, REFERENCE, SUBJECT, Logits, collect, planned_runs, prompts_of
from guardrail.probes.this_machine import not_for_this_machine, present_profile
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Failed

if TYPE_CHECKING:
    from numpy.typing import NDArray


class LogitsProbe(Probe[LogitsGuard]):
    """Starts engines on the same weights and prompts, and compares what they give."""

    guard = LogitsGuard
    subjects = (Engine,)
    metrics = (
        Metric("max_abs_delta", "logits", "Largest difference of a logit from the reference engine's."),
        Metric("mean_abs_delta", "logits", "Mean difference of the logits from the reference engine's."),
        Metric("kl", "nats", "Largest KL(reference || subject) of a sequence's next-token distribution."),
        Metric("argmax_differs", "sequences", "Sequences whose likeliest token is not the reference's."),
        Metric("rounding_multiple", "x", "max_abs_delta over the largest difference of the reference pair."),
        Metric("nonfinite_logits", "elements", "Logits that are NaN or infinite."),
        Metric("differing_logits", "elements", "Logits whose bits differ between eager and captured steps."),
        Metric(
            "batch_max_abs_delta",
            "logits",
            "Largest difference of a logit between a sequence alone and in a batch.",
        ),
        Metric(
            "batch_multiple",
            "x",
            "batch_max_abs_delta over what the reference engine differs by between the two.",
        ),
    )

    def measure(self, guard: LogitsGuard, subject: Engine, context: Context) -> Measuring:
        """See `Probe.measure`."""
        if skipped := not_for_this_machine(guard.devices, context):
            return [skipped]
        if context.interpreted and Mode.CAPTURED in guard.modes:
            return [Unmeasured("there is no GPU to capture a step on", skipped=True)]
        model = context.models[guard.workload.model]
        reference = guard.reference_start(subject)
        if reference is None and set(guard.require) & {*AGAINST_REFERENCE, *BETWEEN_BATCHES}:
            wanted = guard.reference or "reference engine"
            known = ", ".join(sorted(subject.forced_arms)) or "none"
            return [Unmeasured(f"engine {subject.name} states no {wanted}; it can be forced to: {known}")]
        prompts = prompts_of(guard, model, context.seed)
        runs = planned_runs(guard, subject, reference)
        outcomes = yield [run.task(subject, model, prompts) for run in runs]
        where = {"model": model.name}
        if device := present_profile(context):
            where["device"] = device
        broken = [
            Unmeasured(outcome.reason, {"engine": run.role, "batch": f"batch {run.batch}"})
            for run, outcome in zip(runs, outcomes, strict=True)
            if isinstance(outcome, Failed)
        ]
        return [*broken, *_Comparing(guard, collect(runs, outcomes), where).measurements()]


class _Comparing:
    """Turns logits into measurements.

    Args:
        guard: The guard that asks.
        logits: What the engines gave.
        where: What all measurements have in common.
    """

    def __init__(self, guard: LogitsGuard, logits: Logits, where: Mapping[str, str]) -> None:
        self._guard = guard
        self._logits = logits
        self._where = where
        self._first_mode = guard.modes[0]
        self._batches = sorted(set(guard.batches))
        self._floor = self._pair_delta()

    def measurements(self) -> Iterator[Measurement]:
        """Give everything that the logits tell."""
        for batch in self._batches:
            for mode in dict.fromkeys(self._guard.modes):
                if (ours := self._logits.of(SUBJECT, batch, mode)) is not None:
                    yield from self._of_one_run(ours, batch, mode)
            yield from self._between_modes(batch)
        yield from self._between_batches()

    def _of_one_run(self, ours: "NDArray[Any]", batch: int, mode: Mode) -> Iterator[Measurement]:
        place = {"mode": mode.value, "batch": f"batch {batch}"}
        arms = tuple(map(Finding, self._logits.arms[batch]))
        bad = nonfinite_elements(ours)
        yield self._measurement("nonfinite_logits", bad, place, ours.size, arms)
        theirs = self._logits.of(REFERENCE, batch, self._first_mode)
        if theirs is None:
            return
        found = compare_logits(theirs, ours)
        row, index = found.worst_at
        at = (Finding(f"worst at sequence {row}, token {index}"),) if found.delta.max_abs else ()
        known = not any(found.delta.nonfinite)
        largest = found.delta.max_abs if known else None
        yield self._measurement("max_abs_delta", largest, place, ours.size, (*at, *arms))
        yield self._measurement("mean_abs_delta", found.delta.mean_abs if known else None, place, ours.size)
        yield self._measurement("kl", found.kl, place, len(ours))
        moved = tuple(
            Finding(f"sequence {number}: token {now}, not {before}; it led by {ranking.margin[0]:.3g}")
            for number, ranking in enumerate(found.rankings)
            for before, now in [ranking.argmax]
            if before != now
        )
        yield self._measurement("argmax_differs", found.argmax_differs, place, len(ours), moved)
        if self._guard.pair is not None:
            yield self._multiple("rounding_multiple", largest, self._floor, "the reference pair", place)

    def _between_modes(self, batch: int) -> Iterator[Measurement]:
        eager, captured = (self._logits.of(SUBJECT, batch, mode) for mode in (Mode.EAGER, Mode.CAPTURED))
        if eager is not None and captured is not None:
            delta = delta_of(eager, captured)
            place = {"batch": f"batch {batch}"}
            yield self._measurement("differing_logits", delta.differing, place, delta.elements)

    def _between_batches(self) -> Iterator[Measurement]:
        mode = self._first_mode
        for batch in (batch for batch in self._batches if batch > 1):
            ours = self._batch_delta(SUBJECT, batch)
            if ours is None:
                continue
            place = {"mode": mode.value, "batch": f"batch 1 and {batch}"}
            finite = None if any(ours.nonfinite) else ours.max_abs
            yield self._measurement("batch_max_abs_delta", finite, place, ours.elements)
            theirs = self._batch_delta(REFERENCE, batch)
            if theirs is not None:
                floor = None if any(theirs.nonfinite) else theirs.max_abs
                yield self._multiple("batch_multiple", finite, floor, "the reference engine", place)

    def _batch_delta(self, role: str, batch: int) -> Delta | None:
        alone = self._logits.of(role, 1, self._first_mode)
        together = self._logits.of(role, batch, self._first_mode)
        return None if alone is None or together is None else delta_of(alone[:batch], together)

    def _pair_delta(self) -> float | None:
        """Measure what two right engines differ by; None where they do not tell."""
        batch = self._batches[0]
        first = self._logits.of(REFERENCE, batch, self._first_mode)
        second = self._logits.of(PAIR, batch, self._first_mode)
        if first is None or second is None:
            return None
        delta = delta_of(first[: len(second)], second)
        return None if any(delta.nonfinite) else delta.max_abs

    def _multiple(
        self, metric: str, delta: float | None, floor: float | None, whose: str, place: Mapping[str, str]
    ) -> Measurement:
        if floor is None:
            said, multiple = f"what {whose} differs by is not known", None
        elif floor == 0:
            said = f"{whose} differs in nothing, so that it tells nothing of rounding"
            multiple = 0.0 if delta == 0 else None
        else:
            said = f"{whose} differs by {floor:.3g} at most"
            multiple = None if delta is None else delta / floor
        return self._measurement(metric, multiple, place, 1, (Finding(said),))

    def _measurement(
        self,
        metric: str,
        value: float | int | None,
        place: Mapping[str, str],
        inspected: int,
        findings: tuple[Finding, ...] = (),
    ) -> Measurement:
        unit = next(known.unit for known in LogitsProbe.metrics if known.name == metric)
        where = {**self._where, **place}
        return Measurement(metric, unit, value, where, inspected=inspected, findings=findings)
