"""The chain from a budget that shrank to what took the bytes, in sentences."""

from guardrail.kvlog.compare import Comparison, Part
from guardrail.kvlog.reading import Reading
from guardrail.kvlog.startup import Worker

_MIB = 2**20


def causes(found: Comparison) -> list[str]:
    """Say what a difference comes from, the first cause last.

    Args:
        found: Two starts.

    Returns:
        One sentence for each link that is beyond rounding; one that says so where none is.
    """
    links = (_tokens(found), _bytes_per_token(found), _available(found), _load(found))
    chain = [sentence for sentence in links if sentence is not None]
    moved = [part for part in found.parts if part.taken is not None and _beyond_rounding(part.taken)]
    chain += map(_took, sorted(moved, key=_weight, reverse=True))
    rest = found.unexplained
    if rest is not None and not found.explained:
        chain.append(f"{in_mib(rest)} of it is in no line of the log")
    return chain or ["nothing differs beyond the rounding of the logs"]


def first_cause(found: Comparison) -> str:
    """Name what a loss of tokens comes from in the first place; empty where none is beyond rounding."""
    if grown := _bytes_per_token(found):
        return grown
    taking = [part for part in found.parts if part.taken is not None and part.taken.low > 0]
    if not taking or not _available(found):
        return ""
    return _took(max(taking, key=_weight))


def what_is_left(worker: Worker) -> str:
    """Say in one sentence what a worker's KV cache has and what the rest of its memory went to."""
    parts = [
        f"{in_mib(worker.readings[metric])} {name}"
        for metric, name in (
            ("model_load_bytes", "model"),
            ("scratch_at_load_bytes", "of it scratch"),
            ("outside_bytes", "outside the allocator"),
            ("activation_peak_bytes", "activation peak"),
            ("graph_applied_bytes", "estimate of graphs"),
        )
        if metric in worker.readings
    ]
    available = worker.readings.get("available_bytes")
    left = in_mib(available) if available else "an unknown rest"
    return f"{worker.process}: {left} for the KV cache beside " + ", ".join(parts)


def in_mib(reading: Reading) -> str:
    """Write bytes as MiB, with half of what rounding leaves open."""
    half = (reading.high - reading.low) / 2
    return f"{reading.value / _MIB:.2f} MiB" + (f" ± {half / _MIB:.1f}" if half else "")


def _weight(part: Part) -> float:
    return abs(part.taken.value) if part.taken is not None else 0


def _took(part: Part) -> str:
    taken = part.taken or Reading.exact(0)
    if taken.value < 0:
        return f"{part.name} gave back {in_mib(_size(taken))}"
    return f"{part.name} took {in_mib(taken)}"


def _tokens(found: Comparison) -> str | None:
    before, now = found.tokens_before, found.tokens_now
    if before is None or now is None or before == now:
        return None
    return f"kv_tokens {_moved(now - before)} by {abs(now - before):,}, from {before:,} to {now:,}"


def _bytes_per_token(found: Comparison) -> str | None:
    """Compare what a token takes, where both logs tell it beyond their rounding."""
    old, new = found.before.readings.get("available_bytes"), found.now.readings.get("available_bytes")
    if old is None or new is None or not found.tokens_before or not found.tokens_now:
        return None
    before, now = old.over(found.tokens_before), new.over(found.tokens_now)
    # A budget is cut down to whole blocks, which shifts the quotient by far less than this.
    if now.low <= before.high * 1.001 and before.low <= now.high * 1.001:
        return None
    return f"bytes_per_token {_moved(now.value - before.value)} from {before.value:.6g} to {now.value:.6g}"


def _available(found: Comparison) -> str | None:
    if found.lost is None or not _beyond_rounding(found.lost):
        return None
    return f"available_bytes of {found.process} {_moved(-found.lost.value)} by {in_mib(_size(found.lost))}"


def _load(found: Comparison) -> str | None:
    old, new = found.before.readings.get("model_load_bytes"), found.now.readings.get("model_load_bytes")
    if old is None or new is None or not _beyond_rounding(new - old):
        return None
    change = new - old
    return f"model_load_bytes of {found.process} {_moved(change.value)} by {in_mib(_size(change))}"


def _beyond_rounding(reading: Reading) -> bool:
    return not reading.low <= 0 <= reading.high


def _size(change: Reading) -> Reading:
    """Drop the sign of a change."""
    return change if change.value >= 0 else Reading(-change.value, -change.high, -change.low)


def _moved(change: float) -> str:
    return "rose" if change > 0 else "fell"
