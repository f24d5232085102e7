"""From the rounds of a serving session to measurements."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from guardrail.probes.serving_guard import CONFIDENCE, EACH_CONFIDENCE, PAIRED, TIMED, WARM, ServingGuard
from guardrail.records.cache import Cache
from guardrail.records.measurement import Finding, Measurement, Unmeasured
from guardrail.stats.intervals import median_interval
from guardrail.stats.paired import ratio_interval
from guardrail.stats.replays import find_replays

Round = Mapping[str, Any]
Interval = tuple[float, float]


def measurements(
    session: Mapping[str, Any], guard: ServingGuard, units: Mapping[str, str], where: Mapping[str, str]
) -> Iterator[Measurement | Unmeasured]:
    """Turn a session into measurements; one with a copied run or unlike prefix caches gives none.

    Args:
        session: What `guardrail.adapters.vllm_engine.session.run_session` gave.
        guard: The guard that asked for it.
        units: Unit of each metric.
        where: What all measurements have in common.
    """
    if session["busy"]:
        yield Unmeasured(session["busy"], undecided=True)
        return
    arms: Mapping[str, Sequence[Round]] = session["arms"]
    if fault := _copied(arms) or _unlike_prefixes(arms):
        yield Unmeasured(fault)
        return
    own = arms["subject"]
    late = _late(own)
    told = tuple(
        map(Finding, (session["prompts"], *_steps(own), *_told_late(late), *_caches(guard.cache, own)))
    )

    def measured(
        metric: str,
        value: float | None,
        interval: Interval | None = None,
        samples: Sequence[float] = (),
        inspected: int = 1,
    ) -> Measurement:
        return Measurement(
            metric, units[metric], value, where, tuple(samples), interval, inspected, findings=told
        )

    cached = own[0]["cached_tokens"]
    yield measured("cached_tokens", None if None in cached else max(cached))
    repeated = [share for row in own for share in row["repeated_share"]]
    yield measured("repeated_share", None if None in repeated else max(repeated), inspected=len(repeated))
    yield measured("late_compilations", None if late is None else len(late))
    for metric in TIMED if guard.rounds != 2 else ():
        # What the requests of one boot have in common makes them more alike than those of several.
        samples = own[0][metric] if len(own) == 1 else _medians(own, metric)
        interval = median_interval(samples, CONFIDENCE)
        yield measured(metric, statistics.median(samples), interval, samples, len(samples))
    if "against" in arms and guard.rounds > 2:
        for metric, of in zip(PAIRED, ("ms_per_step", "tokens_per_second"), strict=True):
            base, other = _medians(arms["against"], of), _medians(own, of)
            low, middle, high = ratio_interval(base, other, CONFIDENCE)
            ratios = [now / then for then, now in zip(base, other, strict=True)]
            yield measured(metric, middle, (low, high), ratios, len(ratios))
    if guard.cache is Cache.ARM and guard.rounds > 1:
        value, interval = _warm_over_cold(own)
        # An engine that compiled nothing had nothing to load.
        written = own[0]["cache_before"] != own[0]["cache_after"]
        yield measured(WARM, value, interval, (), inspected=int(written))


def _warm_over_cold(rounds: Sequence[Round]) -> tuple[float, Interval]:
    """Compare the steps of the boots that found a filled cache with those of the boot that filled it.

    Each side's median has an interval of its own, and the ratio's ends are those of the two: what one boot
    differs by from another is not in them, so a bound leaves room for it.
    """
    cold = rounds[0]["ms_per_step"]
    warm = [sample for later in rounds[1:] for sample in later["ms_per_step"]]
    (cold_low, cold_high), (low, high) = (median_interval(part, EACH_CONFIDENCE) for part in (cold, warm))
    return statistics.median(warm) / statistics.median(cold), (low / cold_high, high / cold_low)


def _copied(arms: Mapping[str, Sequence[Round]]) -> str:
    """Find a round whose times are those of another, digit for digit."""
    named = [
        (f"round {number} of {arm}", row) for arm, rows in arms.items() for number, row in enumerate(rows, 1)
    ]
    replays = find_replays([row["times"] for _, row in named])
    if not replays:
        return ""
    run, first = named[replays[0].run][0], named[replays[0].first][0]
    return f"{run} repeats {first} time for time, so it is a copy and no measurement"


def _unlike_prefixes(arms: Mapping[str, Sequence[Round]]) -> str:
    """Refuse requests of which some found more of their prompt in the prefix cache than others."""
    by_place = zip(*(row["cached_tokens"] for rows in arms.values() for row in rows), strict=True)
    for place, counts in enumerate(by_place, 1):
        if len(set(counts)) > 1:
            found = ", ".join("unknown" if count is None else str(count) for count in counts)
            return (
                f"request {place} found unlike parts of its prompt in the prefix cache ({found} tokens, "
                "boot by boot), so its times are not comparable; let prompts be drawn, or turn that cache off"
            )
    return ""


def _medians(rounds: Sequence[Round], metric: str) -> list[float]:
    return [statistics.median(row[metric]) for row in rounds]


def _steps(rounds: Sequence[Round]) -> Iterator[str]:
    counts = [count for row in rounds for count in row["steps"]]
    tokens = [count for row in rounds for count in row["completion_tokens"]]
    yield (
        f"{len(counts)} requests in {len(rounds)} rounds, {sum(tokens)} tokens in {sum(counts)} steps "
        f"({min(counts)} to {max(counts)} a request)"
    )


def _late(rounds: Sequence[Round]) -> list[str] | None:
    """Name the kernels that were compiled late in any round; None where one was not watched."""
    stated = [row["late_compilations"] for row in rounds]
    if None in stated:
        return None
    return list(dict.fromkeys(name for names in stated for name in names))


def _told_late(names: Sequence[str] | None) -> Iterator[str]:
    if names:
        yield f"compiled while requests were timed: {', '.join(names)}"


def _caches(cache: Cache, rounds: Sequence[Round]) -> Iterator[str]:
    """State what each boot found compiled, and what it left."""
    for number, row in enumerate(rounds, 1):
        if not row["cache_before"]:
            continue
        changed = [
            f"{name} {before} -> {row['cache_after'][name]}"
            for name, before in row["cache_before"].items()
            if before != row["cache_after"][name]
        ]
        kept = [f"{name} {state}" for name, state in row["cache_before"].items() if state != "cold"]
        told = (
            "compiled " + "; ".join(changed)
            if changed
            else "compiled nothing; " + ("; ".join(kept) or "cold")
        )
        yield f"compile cache {cache}, round {number}: {told}"
