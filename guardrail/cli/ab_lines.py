"""The lines of ``guardrail ab``: rows while it runs, a table at the end, or one JSON object."""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import typer

from guardrail.ab.comparison import Comparison, Estimate, Pair, Run, Spoiled
from guardrail.cli.ab_contest import Contest
from guardrail.cli.streams import reader_may_leave
from guardrail.cli.table import print_line, print_table
from guardrail.records.provenance import Provenance
from guardrail.store.ledger import Entry


class Lines:
    """Prints one comparison; for a machine, all but the JSON object goes to standard error.

    Args:
        contest: What is compared.
        as_json: Print one JSON object on standard output.
    """

    def __init__(self, contest: Contest, as_json: bool) -> None:
        self._contest = contest
        self._terms = contest.terms
        self._as_json = as_json
        self._pairs: list[Pair] = []

    def prior_art(self, entries: Sequence[Entry]) -> None:
        """Show what the ledger knows of the like."""
        for entry in entries:
            row = entry.row
            self._say(f"ledger: {row.id} ({row.verdict}, {row.date}): {row.what}")
            if row.lesson:
                self._say(f"        {row.lesson}")

    def header(self, begun: Provenance) -> None:
        """Show what is compared, and that it differs in nothing else."""
        for line in self._contest.head():
            self._say(line)
        surroundings = {
            **self._terms.conditions(),
            "GPU": begun.device or "none",
            "commit": begun.commit or "none",
        }
        self._say("; ".join(f"{name}: {value}" for name, value in surroundings.items()))

    def table(self, registered: str | None) -> None:
        """Begin the table of pairs, below what decides and where that is registered."""
        terms = self._terms
        criteria = [*(f"accept {each}" for each in terms.accept), *(f"veto {each}" for each in terms.veto)]
        if registered:
            self._say(f"registered: {', '.join(criteria)} ({registered})")
        self._say(f"\n{'pair':>4}  {'first':5}  {'A':>12}  {'B':>12}  {'B/A':>8}")

    def pair(self, pair: Pair) -> None:
        """Show a pair as it ends."""
        self._pairs.append(pair)
        metric = self._terms.metric
        a, b = pair.a.values[metric], pair.b.values[metric]
        self._say(f"{pair.number:>4}  {pair.first:5}  {a:>12.6g}  {b:>12.6g}  {pair.ratio(metric):>8.4f}")

    def spoiled(self, spoiled: Spoiled) -> None:
        """Show why a pair does not count."""
        self._say(f"{'-':>4}  {spoiled.reason}")

    def end(self, found: Comparison, begun: Provenance, row: str | None) -> None:
        """Show the comparison: a table and the verdict, or the JSON object."""
        with reader_may_leave(sys.stdout):
            self._print_end(found, begun, row)

    def _print_end(self, found: Comparison, begun: Provenance, row: str | None) -> None:
        if self._as_json:
            typer.echo(json.dumps(self._document(found, begun, row), indent=2))
            return
        typer.echo()
        rows = [
            (found.metric, "metric"),
            *((control, "control") for control in found.controls),
            *((each, "beside") for each in found.beside),
        ]
        print_table(
            ("", "selector", "A", "B", "unit", "B/A", "interval", "B-A"),
            [_table_row(role, each) for each, role in rows],
        )
        for side, notes in found.notes.items():
            for key, values in notes.items():
                typer.echo(f"{side}: {key} {', '.join(map(str, values))}")
        share = f"{found.confidence:.4g} at each look, {self._terms.confidence:g} over all"
        losses = f", windows discarded: {len(found.discarded)}" if found.discarded else ""
        typer.echo(f"{found.pairs} pairs{losses}, confidence {share}")
        print_line(f"{found.verdict}: {found.reason}")
        if row:
            typer.echo(f"ledger: {row}")

    def _say(self, text: str) -> None:
        with reader_may_leave(sys.stderr if self._as_json else sys.stdout):
            typer.echo(text, err=self._as_json)

    def _document(self, found: Comparison, begun: Provenance, row: str | None) -> dict[str, Any]:
        terms = self._terms
        return {
            "schema_version": "1",
            "verdict": found.verdict,
            "reason": found.reason,
            "pairs_judged": found.pairs,
            "confidence": terms.confidence,
            "confidence_at_look": found.confidence,
            "looks": terms.looks.sizes,
            "accept": [str(criterion) for criterion in terms.accept],
            "veto": [str(criterion) for criterion in terms.veto],
            "self_compare": terms.self_compare,
            **{name.replace(" ", "_"): value for name, value in terms.conditions().items()},
            "metric": _estimate(found.metric),
            "controls": [_estimate(control) for control in found.controls],
            "beside": [_estimate(each) for each in found.beside],
            "discarded": found.discarded,
            "arms": {
                side: {**arm, "notes": notes}
                for (side, arm), notes in zip(
                    self._contest.arms().items(), (found.notes["A"], found.notes["B"]), strict=True
                )
            },
            "pairs": [
                {"number": pair.number, "first": pair.first, "a": _run(pair.a), "b": _run(pair.b)}
                for pair in self._pairs
            ],
            "device": begun.device,
            "commit": begun.commit,
            "dirty": begun.dirty,
            "time": begun.time,
            "ledger_row": row,
        }


def _table_row(role: str, each: Estimate) -> tuple[str, ...]:
    low, high = each.ratio_interval
    below, above = each.difference_interval
    return (
        role, each.metric, f"{each.a:.6g}", f"{each.b:.6g}", each.unit, f"{each.ratio:.4f}",
        f"{low:.4f} to {high:.4f}", f"{below:.4g} to {above:.4g}",
    )  # fmt: skip


def _estimate(each: Estimate) -> dict[str, Any]:
    return {
        "selector": each.metric,
        "unit": each.unit,
        "a": each.a,
        "b": each.b,
        "ratio": each.ratio,
        "ratio_interval": _finite(each.ratio_interval),
        "difference_interval": _finite(each.difference_interval),
        "moved": each.moved,
    }


def _finite(interval: tuple[float, float]) -> tuple[float, float] | None:
    return interval if all(map(math.isfinite, interval)) else None


def _run(run: Run) -> dict[str, Any]:
    return {"values": run.values, "seconds": round(run.seconds, 3), "notes": run.notes}
