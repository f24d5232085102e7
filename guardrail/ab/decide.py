"""Taking pairs until the verdict is clear, as a generator."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from guardrail.ab.comparison import Comparison, Pair, Spoiled
from guardrail.ab.judge import is_settled, judge
from guardrail.ab.terms import Terms
from guardrail.errors import MeasurementError, UndecidedError
from guardrail.stats.replays import find_replays

Clock = Callable[[], float]


def decide(
    terms: Terms, attempts: Iterator[Pair | Spoiled], start: float, clock: Clock
) -> Iterator[Pair | Spoiled | Comparison]:
    """Take pairs until the verdict is clear, the budget ends, or there are no more.

    They are judged at the looks of the terms alone: a look whose moment the speed of the arms chose would not
    keep its confidence.

    Args:
        terms: What decides.
        attempts: Measures a pair whenever it is asked for one.
        start: When the budget began, by the clock.
        clock: Seconds that pass.

    Yields:
        Each attempt as it ends, and the comparison last.

    Raises:
        MeasurementError: A run did other work than the first, or is a copy of another; or the budget ended
            before the first look.
        UndecidedError: Too few pairs for the first look were left of those that nothing spoiled.
    """
    looks = terms.looks
    pairs: list[Pair] = []
    discarded: list[str] = []
    last: Comparison | None = None
    for size in looks.sizes:
        while len(pairs) < size:
            over = clock() - start > terms.budget
            attempt = None if over else next(attempts, None)
            if attempt is None:
                ended = (
                    f"the budget of {terms.budget:g} s ended" if over else "no further window may be tried"
                )
                yield _cut_short(terms, pairs, last, f"{ended} after {len(pairs)} pairs", discarded)
                return
            if isinstance(attempt, Spoiled):
                discarded.append(attempt.reason)
            else:
                pairs.append(attempt)
                _require_comparable(pairs)
            yield attempt
        last = judge(terms, pairs, looks.confidence, f"{size} pairs are all that may be taken")
        if is_settled(last):
            break
    if last is not None:
        yield replace(last, discarded=tuple(discarded))


def _cut_short(
    terms: Terms, pairs: Sequence[Pair], last: Comparison | None, ended: str, discarded: Sequence[str]
) -> Comparison:
    """Report the last look: what came after it was measured, and not planned to be judged."""
    if last is not None:
        found = judge(terms, pairs[: last.pairs], last.confidence, ended)
        return replace(found, discarded=tuple(discarded))
    missed = f"{ended}, before the first look at {terms.looks.sizes[0]}"
    if discarded:
        counts = "; ".join(f"{count} x {why}" for why, count in Counter(discarded).most_common())
        raise UndecidedError(f"{missed}; windows that were spoilt and discarded: {counts}")
    raise MeasurementError(f"{missed}; give --budget more")


def _require_comparable(pairs: Sequence[Pair]) -> None:
    """Refuse runs that did other work than the first one, and copies of earlier runs."""
    runs = [
        (f"arm {side}, pair {pair.number}", run)
        for pair in pairs
        for side, run in (("A", pair.a), ("B", pair.b))
    ]
    expected = pairs[0].a.workload
    for name, run in runs[-2:]:
        for key in {**expected, **run.workload}:
            was, now = expected.get(key), run.workload.get(key)
            if was != now:
                raise MeasurementError(
                    f"{name}: {key} is {now!r}, in the first run it was {was!r}; only like can be compared"
                )
    if replays := find_replays([run.times for _, run in runs]):
        copy, first = runs[replays[0].run][0], runs[replays[0].first][0]
        raise MeasurementError(f"{copy} repeats {first} time for time: it is a copy and no measurement")
