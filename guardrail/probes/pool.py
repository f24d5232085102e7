"""Probe ``pool``: what an engine's start leaves allocated, and whether it holds every batch."""

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any

from pydantic import Field

from guardrail.compiled.architectures import compute_capability
from guardrail.families import Allocation, EngineOptions, ModelProfile, Pool
from guardrail.probes.interface import Context, Measuring, Probe
from guardrail.probes.references import modules_of, resolve
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Task
from guardrail.spec.guards import Guard
from guardrail.spec.profiles import Count, DeviceProfile


class PoolGuard(Guard):
    """A guard on a pool."""

    models: Annotated[list[str], Field(min_length=1)] = Field(
        description="Model profiles that one engine serves together: the target, then its drafter."
    )
    devices: Annotated[list[str], Field(min_length=1)] = Field(
        description="Device profiles to start the engine on."
    )
    max_num_seqs: Annotated[list[Count], Field(min_length=1)] = Field(
        description="Sequences of a batch at most; the engine is started with each of these."
    )
    max_num_batched_tokens: Count = Field(2048, description="Tokens of a batch at most.")
    capture_sizes: list[Count] = Field(
        default=[], description="Token counts that attention is captured at; eager where empty."
    )


class PoolProbe(Probe[PoolGuard]):
    """Replays the start of an engine for each number of sequences."""

    guard = PoolGuard
    subjects = (Pool,)
    metrics = (
        Metric("pool_bytes", "bytes", "Buffers that the engine's start leaves allocated."),
        Metric("unprofiled_bytes", "bytes", "Those of them that the memory profile does not know of."),
        Metric("sets", "sets", "Sets of buffers that the engine's start leaves allocated."),
        Metric("eligible_2d", "batches", "Batches that policy admits and the allocated sets cannot hold."),
    )

    def measure(self, guard: PoolGuard, subject: Pool, context: Context) -> Measuring:
        """See `Probe.measure`."""
        models = [context.models[name] for name in guard.models]
        chosen = context.device and context.device.name
        devices = [name for name in guard.devices if chosen in (None, name)]
        if not devices:
            return [Unmeasured(f"the guard does not cover {chosen}", skipped=True)]
        starts = list(product(devices, guard.max_num_seqs))
        outcomes = yield [
            Task(
                "guardrail.probes.pool:start_engine",
                {
                    "pool": subject,
                    "models": models,
                    "options": engine_options(
                        context.devices[device], sequences, guard.max_num_batched_tokens, guard.capture_sizes
                    ),
                },
                Environment.HOST,
                modules_of(subject.references),
            )
            for device, sequences in starts
        ]
        measured: list[Measurement | Unmeasured] = []
        for (device, sequences), outcome in zip(starts, outcomes, strict=True):
            where = {"device": device, "max_num_seqs": str(sequences)}
            if not isinstance(outcome, Done):
                measured.append(Unmeasured(outcome.reason, where))
                continue
            started = outcome.value
            findings = tuple(Finding(sentence) for sentence in started["sentences"])
            measured += [
                Measurement(
                    metric.name, metric.unit, started[metric.name], where, inspected=started["batches"],
                    findings=findings,
                )
                for metric in self.metrics
            ]  # fmt: skip
        return measured


def engine_options(
    device: DeviceProfile,
    max_num_seqs: int,
    max_num_batched_tokens: int,
    capture_sizes: Sequence[int],
    draft_depth: int | None = None,
) -> EngineOptions:
    """Describe the start of an engine on a device."""
    return EngineOptions(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_batched_tokens,
        processors=device.sm_count,
        capability=divmod(compute_capability(device.arch), 10),
        capture_sizes=tuple(capture_sizes),
        draft_depth=draft_depth,
    )


def start_engine(pool: Pool, models: list[ModelProfile], options: EngineOptions) -> dict[str, Any]:
    """Replay the start of one engine.

    Returns:
        Plain data: a number for each metric of the probe, the ``batches`` that were held against the sets,
        and ``sentences`` about each set.
    """
    started = resolve(pool.start)(models, options)
    made = started.allocations
    return {
        "pool_bytes": sum(each.bytes for each in made),
        "unprofiled_bytes": sum(each.bytes for each in made if not each.profiled),
        "sets": len(made),
        "eligible_2d": started.eligible_2d,
        "batches": started.batches,
        "sentences": [_sentence(each) for each in made],
    }


def _sentence(made: Allocation) -> str:
    users = " and ".join(made.models)
    return f"{users}: {made.rows} rows, {made.bytes} bytes, allocated at {made.origin}"
