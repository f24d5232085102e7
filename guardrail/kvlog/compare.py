"""What took the bytes between two starts of one engine."""

from collections.abc import Collection
from dataclasses import dataclass

from guardrail.errors import UsageError
from guardrail.kvlog.reading import Reading, total
from guardrail.kvlog.settings import IDENTITY, WHERE_STATED
from guardrail.kvlog.startup import Startup, Worker

_NONE = Reading.exact(0)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a budget in two starts; None where a log does not state it."""

    name: str
    before: Reading | None
    now: Reading | None
    taken: Reading | None
    """Bytes that it took from the KV cache; negative where it gave some back."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two starts of one engine, by the worker with the least memory for the KV cache."""

    process: str
    before: Worker
    now: Worker
    parts: tuple[Part, ...]
    lost: Reading | None
    """Bytes by which the memory for the KV cache shrank; None where a log does not state it."""
    unexplained: Reading | None
    """What no part accounts for; around 0 it is rounding."""
    tokens_before: int | None
    tokens_now: int | None
    changed_settings: tuple[str, ...] = ()

    @property
    def explained(self) -> bool:
        """Tell whether the parts account for the loss within what rounding leaves open."""
        rest = self.unexplained
        return rest is not None and rest.low <= 0 <= rest.high


def compare(before: Startup, now: Startup, ignored: Collection[str] = ()) -> Comparison:
    """Explain the difference of two budgets.

    Args:
        before: The start to compare with.
        now: The start to explain.
        ignored: Settings of `settings.IDENTITY` that may differ.

    Raises:
        UsageError: The starts are of different engines, or one has no worker that the other has.
    """
    _require_alike(before, now, ignored)
    worker = now.tightest() or (now.workers[0] if now.workers else None)
    if worker is None:
        raise UsageError(f"{now.source}: no worker states what it takes, so there is nothing to compare")
    other = counterpart(before, now, worker)
    if other is None:
        known = ", ".join(each.process for each in before.workers) or "none"
        raise UsageError(
            f"{before.source}: there is no worker {worker.process}, which {now.source} has (only {known})"
        )
    old, new = other.readings, worker.readings
    parts = _parts(other, worker)
    lost = _minus(old.get("available_bytes"), new.get("available_bytes"))
    return Comparison(
        process=worker.process,
        before=other,
        now=worker,
        parts=parts,
        lost=lost,
        unexplained=lost and lost - _accounted(other, worker, parts),
        tokens_before=_tokens(before),
        tokens_now=_tokens(now),
        changed_settings=tuple(
            f"{name}: {before.settings.get(name, 'not stated')} -> {now.settings.get(name, 'not stated')}"
            for name in sorted({*before.settings, *now.settings})
            if before.settings.get(name) != now.settings.get(name)
        ),
    )


def counterpart(before: Startup, now: Startup, worker: Worker) -> Worker | None:
    """Find a worker of one start in another, by name; versions name an only one differently."""
    if len(before.workers) == len(now.workers) == 1:
        return before.workers[0]
    return next((other for other in before.workers if other.process == worker.process), None)


def weights(worker: Worker) -> Reading | None:
    """Give what loading the model took but for scratch."""
    return _minus(worker.readings.get("model_load_bytes"), worker.readings.get("scratch_at_load_bytes"))


def _parts(before: Worker, now: Worker) -> tuple[Part, ...]:
    old, new = before.readings, now.readings
    parts = [
        ("scratch at load", old.get("scratch_at_load_bytes"), new.get("scratch_at_load_bytes")),
        ("model but scratch", weights(before), weights(now)),
        ("outside the allocator", old.get("outside_bytes"), new.get("outside_bytes")),
        ("activation peak", old.get("activation_peak_bytes"), new.get("activation_peak_bytes")),
        ("estimate of graphs", old.get("graph_applied_bytes"), new.get("graph_applied_bytes")),
    ]
    requested = old.get("requested_bytes"), new.get("requested_bytes")
    return (
        *(Part(name, first, second, _minus(second, first)) for name, first, second in parts),
        Part("requested memory", *requested, _requested(before, now)),
    )


def _accounted(before: Worker, now: Worker, parts: tuple[Part, ...]) -> Reading:
    """Add up what the parts took, from the sums that the logs state where they do: those are rounded once."""
    taken = {part.name: part.taken for part in parts if part.taken is not None}
    for metric, names in (
        ("consumed_bytes", ("scratch at load", "model but scratch", "outside the allocator")),
        ("peak_bytes", ("activation peak", "estimate of graphs")),
    ):
        stated = _minus(now.readings.get(metric), before.readings.get(metric))
        if stated is not None:
            taken = {name: part for name, part in taken.items() if name not in names} | {metric: stated}
    return total(taken.values())


def _requested(before: Worker, now: Worker) -> Reading | None:
    """Give what a smaller request took.

    It is a share of the device's memory: two that are equal as printed are not apart by their rounding.
    """
    old, new = before.readings.get("requested_bytes"), now.readings.get("requested_bytes")
    return _NONE if old is not None and old == new else _minus(old, new)


def _minus(first: Reading | None, second: Reading | None) -> Reading | None:
    return None if first is None or second is None else first - second


def _tokens(startup: Startup) -> int | None:
    """Add up the tokens of all engines."""
    stated = [engine.readings["kv_tokens"].value for engine in startup.engines]
    return int(sum(stated)) if stated else None


def _require_alike(before: Startup, now: Startup, ignored: Collection[str]) -> None:
    differences = [
        f"{name} is {before.settings.get(name, 'not stated')} in {before.source} and "
        f"{now.settings.get(name, 'not stated')} in {now.source}"
        for name in IDENTITY
        if name not in ignored and _differ(name, before.settings.get(name), now.settings.get(name))
    ]
    if differences:
        raise UsageError(
            "these starts are not of the same engine: "
            + "; ".join(differences)
            + f". To compare them all the same, ignore what may differ: {', '.join(IDENTITY)}"
        )


def _differ(name: str, before: str | None, now: str | None) -> bool:
    return before != now and (name not in WHERE_STATED or None not in (before, now))
