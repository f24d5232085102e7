"""What a start-up log says, whichever version wrote it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from guardrail.kvlog.reading import Reading

UNPREFIXED = "engine"
"""Name of the process that a log without prefixes is of."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What one process that holds a part of the model says of its memory, in bytes."""

    process: str
    readings: Mapping[str, Reading]
    """By metric or component; what the log does not state is left out."""
    scratch_lines: int = 0
    """Lines on attention scratch."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What one process that schedules says of the KV cache."""

    process: str
    readings: Mapping[str, Reading]
    request_tokens: int | None = None
    """Tokens of the request that the concurrency is counted in."""


@dataclass(frozen=True, slots=True)
class Startup:
    """One start of an engine."""

    source: str
    workers: tuple[Worker, ...]
    engines: tuple[Engine, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    """What it was started with, as far as the log says."""
    readings: Mapping[str, Reading] = field(default_factory=dict)
    """What holds for all workers, by metric."""
    counted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names behind what is counted, by metric; a metric that the log cannot tell is left out."""

    def tightest(self) -> Worker | None:
        """Pick the worker with the least memory for the KV cache, which limits all; None where none tells."""
        stating = [worker for worker in self.workers if "available_bytes" in worker.readings]
        return min(stating, key=lambda worker: worker.readings["available_bytes"].value, default=None)
