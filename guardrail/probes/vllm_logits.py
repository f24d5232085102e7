"""Probe ``vllm_logits``: vLLM's first step and its verify steps against another engine."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.compiled.file_subject import FileSubject
from guardrail.logits.difference import compare_logits, delta_of, nonfinite_elements
from guardrail.logits.packing import unpack
from guardrail.logits.prompts import draw_prompts
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.this_machine import not_for_this_machine, present_profile
from guardrail.probes.vllm_logits_guard import VllmLogitsGuard
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONGEST_SESSION = 86_400.0
"""Seconds; each boot has a limit of its own."""

Arrays = Mapping[str, "NDArray[Any]"]
"""fp32 logits [sequences, vocabulary] by role."""


class VllmLogitsProbe(Probe[VllmLogitsGuard]):
    """Boots engines on the same weights and prompts, and compares what they give."""

    guard = VllmLogitsGuard
    subjects = (FileSubject,)
    metrics = (
        Metric("max_abs_delta", "logits", "Largest difference of a logit from the reference's."),
        Metric("mean_abs_delta", "logits", "Mean difference of the logits from the reference's."),
        Metric("kl", "nats", "Largest KL(reference || subject) of a sequence's next-token distribution."),
        Metric("argmax_differs", "sequences", "Sequences whose likeliest token is not the reference's."),
        Metric("rounding_multiple", "x", "max_abs_delta over the largest difference of the two references."),
        Metric("nonfinite_logits", "elements", "Logits that are NaN or infinite."),
    )

    def measure(self, guard: VllmLogitsGuard, subject: FileSubject, context: Context) -> Measuring:
        """See `Probe.measure`."""
        if skipped := not_for_this_machine(guard.devices, context):
            return [skipped]
        folder = Path(context.folder)
        prompts = guard.prompts or draw_prompts(
            guard.vocabulary, guard.sequences, guard.prompt_tokens, context.seed
        )
        (outcome,) = yield [
            Task(
                "guardrail.adapters.vllm_engine.logits:collect_logits",
                {
                    "subject": subject,
                    "reference": str(folder / guard.reference),
                    "pair": guard.pair and str(folder / guard.pair),
                    "prompts": prompts,
                    "query_tokens": guard.query_tokens,
                },
                Environment.COMMAND,
                timeout=_LONGEST_SESSION,
                # A key of the cache holds the content of one file, the subject's, and no model's weights.
                reusable=False,
            )
        ]
        if not isinstance(outcome, Done):
            return [Unmeasured(outcome.reason)]
        device = present_profile(context)
        found: list[Measurement | Unmeasured] = []
        for step, packed in outcome.value["steps"].items():
            where = {"step": step, **({"device": device} if device else {})}
            found += self._of_step({role: unpack(rows) for role, rows in packed.items()}, where)
        return found

    def _of_step(self, arrays: Arrays, where: Mapping[str, str]) -> Iterator[Measurement]:
        theirs, ours = arrays["reference"], arrays["subject"]
        units = {metric.name: metric.unit for metric in self.metrics}

        def measured(
            metric: str, value: float | None, inspected: int, findings: tuple[str, ...] = ()
        ) -> Measurement:
            told = tuple(map(Finding, findings))
            return Measurement(metric, units[metric], value, where, inspected=inspected, findings=told)

        found = compare_logits(theirs, ours)
        known = not any(found.delta.nonfinite)
        largest = found.delta.max_abs if known else None
        row, index = found.worst_at
        yield measured("nonfinite_logits", nonfinite_elements(ours), ours.size)
        yield measured("max_abs_delta", largest, ours.size, (f"worst at sequence {row}, token {index}",))
        yield measured("mean_abs_delta", found.delta.mean_abs if known else None, ours.size)
        yield measured("kl", found.kl, len(ours))
        yield measured("argmax_differs", found.argmax_differs, len(ours))
        if "pair" in arrays:
            multiple, said = _multiple(largest, theirs, arrays["pair"])
            yield measured("rounding_multiple", multiple, 1, (said,))


def _multiple(
    largest: float | None, reference: "NDArray[Any]", pair: "NDArray[Any]"
) -> tuple[float | None, str]:
    """Divide by what the references differ by; unknown where they tell nothing, but for equal logits."""
    delta = delta_of(reference, pair)
    if any(delta.nonfinite):
        return None, "what the two references differ by is not known"
    if delta.max_abs == 0:
        said = "the two references differ in nothing, so that they tell nothing of rounding"
        return (0.0 if largest == 0 else None), said
    multiple = None if largest is None else largest / delta.max_abs
    return multiple, f"the two references differ by {delta.max_abs:.3g} at most"
