"""From the windows of a timing session to measurements."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from guardrail.probes.timing_session import COLD, HOT, Place, Session, Window
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.stats.intervals import median_interval, samples_needed

_US_PER_S = 1e6

METRICS = (
    Metric("time", "us", "Time of one call during which any of its kernels ran, by the profiler's stamps."),
    Metric("span", "us", "Time from the first start to the last end of a call's kernels, gaps included."),
    Metric("content_rate", "bytes/s", "Bytes that any arm must move, as declared, over the call's time."),
    Metric("streamed_rate", "bytes/s", "Bytes that this arm moves, as declared, over the call's time."),
    Metric("dram_read_fraction", "ratio", "Streamed rate, cold, over the card's DRAM read rate."),
    Metric("l2_read_fraction", "ratio", "Streamed rate, hot, over the card's L2 read rate."),
    Metric("matrix_fraction", "ratio", "Declared operations a second over the card's 16-bit matrix rate."),
    Metric("launches", "launches", "Kernels, copies and fills that one call ran."),
    Metric("registers", "registers", "Registers a thread, of the call's kernel with the most."),
    Metric("shared_bytes", "bytes", "Shared memory a block, of the call's kernel with the most."),
)

RATE_OF = {"dram_read_fraction": "dram_read", "l2_read_fraction": "l2_read", "matrix_fraction": "matrix"}
"""Rate of the card that each fraction is one of."""
NEED_WORK = frozenset({"content_rate", "streamed_rate", *RATE_OF})
_CACHE_OF = {"dram_read_fraction": COLD, "l2_read_fraction": HOT}


@dataclass(frozen=True, slots=True)
class _Sampled:
    metric: str
    unit: str
    sample: Callable[[Place, Window, int], float]


def _over_time(amount: str) -> Callable[[Place, Window, int], float]:
    return lambda place, window, at: getattr(place.work, amount) / window.busy_us[at] * _US_PER_S


def _fraction(amount: str, rate: str) -> Callable[[Place, Window, int], float]:
    over_time = _over_time(amount)
    return lambda place, window, at: over_time(place, window, at) / window.rates[rate]


_SAMPLED = (
    _Sampled("time", "us", lambda _, window, at: window.busy_us[at]),
    _Sampled("span", "us", lambda _, window, at: window.span_us[at]),
    _Sampled("content_rate", "bytes/s", _over_time("content_bytes")),
    _Sampled("streamed_rate", "bytes/s", _over_time("streamed_bytes")),
    _Sampled("dram_read_fraction", "ratio", _fraction("streamed_bytes", "dram_read")),
    _Sampled("l2_read_fraction", "ratio", _fraction("streamed_bytes", "l2_read")),
    _Sampled("matrix_fraction", "ratio", _fraction("operations", "matrix")),
)


def measurements(session: Session, device: str) -> list[Measurement | Unmeasured]:
    """Turn a session into one measurement for each place and metric.

    Args:
        session: What the worker measured.
        device: Profile or name of the GPU, which bounds may be keyed by.

    Returns:
        Medians over the windows with their distribution-free intervals; for a session of too few usable
        windows one undecided reason, and for a rate above the one that it is a fraction of an error.
    """
    kept, needed = len(session.windows), samples_needed(session.confidence)
    if kept < needed:
        reason = f"{kept} usable windows within budget_seconds, of {needed} needed; {_losses(session)}"
        return [Unmeasured(reason, undecided=True)]
    found: list[Measurement | Unmeasured] = []
    for at, place in enumerate(session.places):
        where = {"device": device, "case": place.case, "arm": place.arm, "cache": place.cache}
        found += _sampled(session, at, place, where)
        found += _exact(session, place, where)
    return found


def _sampled(
    session: Session, at: int, place: Place, where: Mapping[str, str]
) -> Iterator[Measurement | Unmeasured]:
    for kind in _SAMPLED:
        if not _applies(kind.metric, place, session.windows[0]):
            continue
        samples = tuple(kind.sample(place, window, at) for window in session.windows)
        interval = median_interval(samples, session.confidence)
        if kind.metric in RATE_OF and interval[0] > 1:
            yield Unmeasured(_impossible(kind.metric, samples, session), where)
            continue
        yield Measurement(
            kind.metric,
            kind.unit,
            statistics.median(samples),
            where,
            samples,
            interval,
            inspected=len(samples),
            findings=(Finding(_evidence(session, place)),),
        )


def _applies(metric: str, place: Place, window: Window) -> bool:
    if metric in NEED_WORK and place.work is None:
        return False
    if metric in RATE_OF and RATE_OF[metric] not in window.rates:
        return False
    return _CACHE_OF.get(metric, place.cache) == place.cache


def _exact(session: Session, place: Place, where: Mapping[str, str]) -> Iterator[Measurement]:
    counts = {
        ("launches", "launches"): len(place.launches),
        ("registers", "registers"): place.registers,
        ("shared_bytes", "bytes"): place.shared_bytes,
    }
    for (metric, unit), count in counts.items():
        if count is not None:
            yield Measurement(metric, unit, count, where, inspected=len(session.windows))


def _impossible(metric: str, samples: tuple[float, ...], session: Session) -> str:
    rate = RATE_OF[metric]
    measured = statistics.median(window.rates[rate] for window in session.windows)
    return (
        f"{metric} is {statistics.median(samples):.3f}: nothing is faster than the {rate} rate of "
        f"{measured:.4g} a second that was measured beside it, so the declared work or the cache's state is "
        "wrong"
    )


def _evidence(session: Session, place: Place) -> str:
    rates = {
        name: statistics.median(window.rates[name] for window in session.windows)
        for name in session.windows[0].rates
    }
    shown = "".join(f", {name} {rate:.4g}/s" for name, rate in rates.items())
    kernels = ", ".join(place.launches)
    return f"{kernels}; {len(session.windows)} windows{shown}; {_losses(session)}; seed {session.seed}"


def _losses(session: Session) -> str:
    if not session.discarded:
        return "none discarded"
    counts = Counter(session.discarded).most_common()
    return f"{len(session.discarded)} discarded: " + "; ".join(f"{count} x {why}" for why, count in counts)
