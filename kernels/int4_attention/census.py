"""A census of attention calls: which arm ran, by query length, and what did not fit."""

import threading
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

from guardrail.families.census import CensusRecord, Taken, dump_census
from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.dispatch import Call, Decision


class Census:
    """Counts the calls that the host makes, from any thread.

    A captured graph is counted when it is captured: its replays run no Python.

    Args:
        breaches: Where calls are noted that policy admitted and the scratch could not hold.
    """

    def __init__(self, breaches: BreachState) -> None:
        self._breaches = breaches
        self._calls: Counter[Taken] = Counter()
        self._lock = threading.Lock()

    def observe(self, call: Call, decision: Decision, arm: str, segments: int | None) -> None:
        """Count one call.

        Args:
            call: What the dispatch rule was asked.
            decision: What it answered.
            arm: What was launched.
            segments: Segments that sequences were divided into; None in the 2D arm.
        """
        taken = Taken(
            query_len=call.max_query_len,
            arm=arm,
            reasons=decision.reasons,
            segments=segments,
            eligible=not decision.deliberate,
            calls=1,
        )
        with self._lock:
            self._calls[taken] += 1
            self._breaches.observe(call)

    def record(self) -> CensusRecord:
        """Take a picture of the counts, shortest query first."""
        with self._lock:
            rows = [replace(taken, calls=calls) for taken, calls in self._calls.items()]
            breaches, degraded, first = self._breaches.count, self._breaches.degraded, self._breaches.first
        return CensusRecord(
            taken=tuple(
                sorted(rows, key=lambda row: (row.query_len, row.arm, row.reasons, row.segments or 0))
            ),
            breaches=breaches,
            degraded=degraded,
            first_breach=None if first is None else asdict(first),
        )

    def write(self, path: Path) -> None:
        """Write the counts as JSON, for a guard of the probe ``census``; a reader never sees half a file."""
        unfinished = path.with_name(path.name + ".new")
        unfinished.write_text(dump_census(self.record()), encoding="utf-8")
        unfinished.replace(path)
