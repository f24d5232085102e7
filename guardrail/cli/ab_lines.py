"""The lines of ``guardrail ab``: rows while it runs, a table at the end, or one JSON object."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from guardrail.ab.arm import LoadedFile, changed_variables
from guardrail.ab.comparison import Comparison, Estimate, Pair, Run
from guardrail.ab.plan import Plan
from guardrail.ab.records import shown
from guardrail.cli.table import print_table
from guardrail.records.provenance import Provenance
from guardrail.store.ledger import Entry

Loaded = Mapping[str, Sequence[LoadedFile]]


class Lines:
    """Prints one comparison; for a machine, all but the JSON object goes to standard error.

    Args:
        plan: The comparison.
        as_json: Print one JSON object on standard output.
    """

    def __init__(self, plan: Plan, as_json: bool) -> None:
        self._plan = plan
        self._as_json = as_json
        self._pairs: list[Pair] = []

    def prior_art(self, entries: Sequence[Entry]) -> None:
        """Show what the ledger knows of the like."""
        for entry in entries:
            row = entry.row
            self._say(f"ledger: {row.id} ({row.verdict}, {row.date}): {row.what}")
            if row.lesson:
                self._say(f"        {row.lesson}")

    def header(self, loaded: Loaded, begun: Provenance, registered: str | None) -> None:
        """Show what is compared, and that it differs in nothing else."""
        plan = self._plan
        for arm in (plan.a, plan.b):
            self._say(f"{arm.side}: {shown(arm)}")
            for file in loaded[arm.side]:
                self._say(f"   {file.fingerprint[:16]} {file.path}")
        changed = {arm.side: changed_variables(arm, plan.shared) for arm in (plan.a, plan.b)}
        names = sorted({*changed["A"], *changed["B"]})
        common = plan.shared
        for name in names:
            a, b = (changed[side].get(name, common.get(name, "unset")) for side in ("A", "B"))
            self._say(f"environment: {name} is {a} in A, {b} in B")
        self._say(f"environment: {len(common)} variables are equal{' but for these' if names else ''}")
        self._say(f"cache: {plan.cache}; GPU: {begun.device or 'none'}; commit: {begun.commit or 'none'}")
        criteria = [*(f"accept {each}" for each in plan.accept), *(f"veto {each}" for each in plan.veto)]
        if registered:
            self._say(f"registered: {', '.join(criteria)} ({registered})")
        self._say(f"\n{'pair':>4}  {'first':5}  {'A':>12}  {'B':>12}  {'B/A':>8}")

    def pair(self, pair: Pair) -> None:
        """Show a pair as it ends."""
        self._pairs.append(pair)
        metric = self._plan.metric
        a, b = pair.a.values[metric], pair.b.values[metric]
        self._say(f"{pair.number:>4}  {pair.first:5}  {a:>12.6g}  {b:>12.6g}  {pair.ratio(metric):>8.4f}")

    def end(self, found: Comparison, loaded: Loaded, begun: Provenance, row: str | None) -> None:
        """Show the comparison: a table and the verdict, or the JSON object."""
        if self._as_json:
            typer.echo(json.dumps(self._document(found, loaded, begun, row), indent=2))
            return
        typer.echo()
        rows = [(found.metric, "metric"), *((control, "control") for control in found.controls)]
        print_table(
            ("", "selector", "A", "B", "unit", "B/A", "interval", "B-A"),
            [_table_row(role, each) for each, role in rows],
        )
        for side, notes in found.notes.items():
            for key, values in notes.items():
                typer.echo(f"{side}: {key} {', '.join(map(str, values))}")
        share = f"{found.confidence:.4g} at each look, {self._plan.confidence:g} over all"
        typer.echo(f"{found.pairs} pairs, confidence {share}")
        typer.echo(f"{found.verdict}: {found.reason}")
        if row:
            typer.echo(f"ledger: {row}")

    def _say(self, text: str) -> None:
        typer.echo(text, err=self._as_json)

    def _document(
        self, found: Comparison, loaded: Loaded, begun: Provenance, row: str | None
    ) -> dict[str, Any]:
        plan = self._plan
        return {
            "schema_version": "1",
            "verdict": found.verdict,
            "reason": found.reason,
            "pairs_judged": found.pairs,
            "confidence": plan.confidence,
            "confidence_at_look": found.confidence,
            "looks": plan.looks.sizes,
            "accept": [str(criterion) for criterion in plan.accept],
            "veto": [str(criterion) for criterion in plan.veto],
            "self_compare": plan.self_compare,
            "cache": plan.cache,
            "metric": _estimate(found.metric),
            "controls": [_estimate(control) for control in found.controls],
            "arms": {
                arm.side: {
                    "command": arm.command,
                    "environment": arm.environment,
                    "files": {file.path: file.fingerprint for file in loaded[arm.side]},
                    "notes": found.notes.get(arm.side, {}),
                }
                for arm in (plan.a, plan.b)
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
