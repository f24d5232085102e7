"""Probe ``decode``: a whole decode step, its KV budget and the arms that served it."""

from collections.abc import Mapping
from statistics import median
from typing import Annotated, Any

from pydantic import Field

from guardrail.families import DecodeOptions, Engine
from guardrail.probes.engine_settings import EngineSettings
from guardrail.probes.interface import Context, Measured, Measuring, Probe
from guardrail.probes.references import modules_of
from guardrail.probes.this_machine import not_for_this_machine, present_profile
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.guards import Guard
from guardrail.spec.profiles import Count
from guardrail.stats.intervals import median_interval

_CONFIDENCE = 0.95
_TIMEOUT_SECONDS = 900.0

Tokens = Annotated[int, Field(ge=0)]


class Workload(EngineSettings):
    """What a guard asks an engine to do."""

    model: str = Field(description="Model profile whose geometry the engine has, with random weights.")
    sequences: Count = Field(1, description="Sequences that are decoded at once.")
    prompt_tokens: Count = Field(4, description="Tokens of each prompt, drawn with a seed.")
    new_tokens: int = Field(16, ge=2, description="Tokens that each sequence generates in one run.")
    contexts: Annotated[list[Tokens], Field(min_length=1)] = Field(
        default=[0], description="Random keys and values before the prompt; every number is timed."
    )
    repeats: int = Field(9, ge=6, description="Timed runs at each context; each gives one sample.")

    def options(self) -> DecodeOptions:
        """Describe the engine's start."""
        return DecodeOptions(
            sequences=self.sequences,
            context=max(self.contexts) + self.prompt_tokens + self.new_tokens,
            **self.start_options(),
        )


class DecodeGuard(Guard):
    """A guard on an engine."""

    workload: Workload = Field(description="What the engine is started with and asked to do.")
    devices: list[str] = Field(default=[], description="Device profiles that the bounds are anchored on.")

    @property
    def models(self) -> tuple[str, ...]:
        """Name the model profile that the measurements depend on."""
        return (self.workload.model,)


TIMED = (
    Metric("tokens_per_second", "tokens/s", "New tokens of all sequences in a second; median of runs."),
    Metric("ms_per_step", "ms", "Time of one step; median over runs of each run's mean."),
    Metric(
        "weight_stream_fraction",
        "ratio",
        "Time of reading the step's quantized weights once, at the read rate measured beside, over its own.",
    ),
)
COMPARED = (
    Metric("modes_differ", "tokens", "New tokens that differ between eager and captured steps."),
    Metric("differing_logits", "elements", "First-step logits whose bits differ between the two."),
)
COUNTED = (
    Metric("kv_tokens", "tokens", "Tokens that the KV budget holds."),
    Metric("kv_bytes_per_token", "bytes", "KV cache that one token takes over all layers."),
    Metric("scratch_bytes", "bytes", "Attention scratch that is allocated."),
    Metric("scratch_bytes_after_profile", "bytes", "Scratch that the KV budget does not know of."),
    Metric("accidental_fallbacks", "calls", "Products on a slower arm than the engine asked for."),
)


class DecodeProbe(Probe[DecodeGuard]):
    """Starts an engine, decodes, and reads off what it reports."""

    guard = DecodeGuard
    subjects = (Engine,)
    metrics = (*TIMED, *COMPARED, *COUNTED)

    def measure(self, guard: DecodeGuard, subject: Engine, context: Context) -> Measuring:
        """See `Probe.measure`."""
        if skipped := not_for_this_machine(guard.devices, context):
            return [skipped]
        wanted = {
            "timed": _bounded(guard, TIMED),
            "compared": _bounded(guard, COMPARED),
        }
        needing_gpu = [metric for metrics in wanted.values() for metric in metrics]
        if context.interpreted and needing_gpu:
            names = ", ".join(needing_gpu)
            return [Unmeasured(f"{names}: there is no GPU to time a step on or to capture it", skipped=True)]
        workload = guard.workload
        (outcome,) = yield [
            Task(
                "guardrail.adapters.decode:run_engine",
                {
                    "engine": subject,
                    "model": context.models[workload.model],
                    "options": workload.options(),
                    "workload": workload.model_dump(mode="json"),
                    "seed": context.seed,
                    **{name: bool(metrics) for name, metrics in wanted.items()},
                },
                Environment.EXECUTE,
                modules_of(subject.references),
                timeout=_TIMEOUT_SECONDS,
                reusable=not wanted["timed"],
            )
        ]
        if not isinstance(outcome, Done):
            return [Unmeasured(outcome.reason)]
        where = {"model": workload.model}
        if device := present_profile(context):
            where["device"] = device
        return _measurements(outcome.value, where)


def _bounded(guard: DecodeGuard, metrics: tuple[Metric, ...]) -> list[str]:
    return [metric.name for metric in metrics if metric.name in guard.require]


def _measurements(result: Mapping[str, Any], where: dict[str, str]) -> Measured:
    """Turn what the worker saw into measurements."""
    units = {metric.name: metric.unit for metric in (*TIMED, *COMPARED, *COUNTED)}
    arms = tuple(Finding(sentence) for sentence in result["arms"])
    accidents = tuple(Finding(sentence) for sentence in result["accidents"])
    found: list[Measurement | Unmeasured] = []
    for name, value in result["counts"].items():
        findings = accidents if name == "accidental_fallbacks" else ()
        inspected = result["products"] if name == "accidental_fallbacks" else 1
        found.append(
            Measurement(name, units[name], value, where, inspected=inspected, findings=findings or arms)
        )
    for name, (value, inspected) in result["compared"].items():
        found.append(Measurement(name, units[name], value, where, inspected=inspected))
    for context, series in result["timed"].items():
        for name, samples in series.items():
            found.append(
                Measurement(
                    name,
                    units[name],
                    median(samples),
                    {**where, "context": f"context {context}"},
                    samples=tuple(samples),
                    interval=median_interval(samples, _CONFIDENCE),
                    inspected=len(samples),
                    findings=tuple(Finding(sentence) for sentence in result["beside"][context]),
                )
            )
    return found
