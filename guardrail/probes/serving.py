"""Probe ``serving``: how fast an engine decodes a request that has it to itself."""

from pathlib import Path

from guardrail.compiled.file_subject import FileSubject
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.serving_guard import ServingGuard
from guardrail.probes.serving_results import measurements
from guardrail.probes.this_machine import not_for_this_machine, present_profile
from guardrail.records.measurement import Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task

_LONGEST_SESSION = 86_400.0
"""Seconds; each boot has a limit of its own."""


class ServingProbe(Probe[ServingGuard]):
    """Boots an offline engine, or visits a running server, and times what arrives."""

    guard = ServingGuard
    subjects = (FileSubject,)
    metrics = (
        Metric("ms_per_step", "ms", "Time of one step behind the first; median of requests."),
        Metric(
            "tokens_per_second", "tokens/s", "Completion tokens over the time from first to last content."
        ),
        Metric(
            "isolated_tokens_per_second", "tokens/s", "The same without the first token, which prefill gives."
        ),
        Metric("tokens_per_step", "tokens", "Tokens that a step behind the first gives: acceptance length."),
        Metric("cached_tokens", "tokens", "Prompt tokens of a request that the prefix cache gave."),
        Metric(
            "repeated_share",
            "ratio",
            "Share of a request's four-token windows that occurred in it before; the largest of requests.",
        ),
        Metric("late_compilations", "kernels", "Kernels that were compiled while requests were timed."),
        Metric("ms_per_step_ratio", "x", "Time of one step over the other engine's, paired by round."),
        Metric("tokens_per_second_ratio", "x", "Rate over the other engine's, paired by round."),
        Metric(
            "warm_step_ratio", "x", "Time of one step in boots that load compiled code, over the one before."
        ),
    )

    def measure(self, guard: ServingGuard, subject: FileSubject, context: Context) -> Measuring:
        """See `Probe.measure`."""
        if skipped := not_for_this_machine(guard.devices, context):
            return [skipped]
        folder = Path(context.folder)
        against, prompts = guard.against, guard.workload.prompts
        (outcome,) = yield [
            Task(
                "guardrail.adapters.vllm_engine.session:run_session",
                {
                    "subject": subject,
                    "against": None if against is None else str(folder / against),
                    "prompts_file": None if prompts is None else str(folder / prompts),
                    "workload": guard.workload.model_dump(mode="json", exclude={"prompts"}),
                    "rounds": guard.rounds,
                    "cache": guard.cache.value,
                    "largest_load": guard.largest_load,
                    "wait_seconds": guard.wait_seconds,
                },
                Environment.COMMAND,
                timeout=_LONGEST_SESSION,
                reusable=False,
            )
        ]
        if not isinstance(outcome, Done):
            return [Unmeasured(outcome.reason)]
        device = present_profile(context)
        units = {metric.name: metric.unit for metric in self.metrics}
        return list(measurements(outcome.value, guard, units, {"device": device} if device else {}))
