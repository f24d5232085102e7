"""One guard, its bounds and their origins, on the terminal."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import typer

from guardrail.cli.table import print_line, print_table
from guardrail.errors import UsageError
from guardrail.reporters.text import one_line
from guardrail.rules.bounds import in_words
from guardrail.spec.anchors import Anchor
from guardrail.spec.guards import Bound, LoadedGuard
from guardrail.spec.limits import EffectiveLimit, LimitKind, derived
from guardrail.spec.suggest import did_you_mean
from guardrail.store.evidence import evidence_path
from guardrail.workspace import Selection, open_workspace

_KINDS: tuple[LimitKind, ...] = ("equals", "floor", "ceiling")


def find_guard(guards_file: Path, name: str) -> LoadedGuard:
    """Load a guards file, and find one of its guards.

    Raises:
        UsageError: There is no such guard.
    """
    guards = open_workspace(Selection(guards_file)).guards
    known = {loaded.guard.id: loaded for loaded in guards}
    if name not in known:
        raise UsageError(f"{guards_file} has no guard {name!r}{did_you_mean(name, known)}")
    return known[name]


def print_guard(guards_file: Path, loaded: LoadedGuard) -> None:
    """Print a guard's effective bounds, each with what it is derived from."""
    guard = loaded.guard
    typer.echo(f"{guard.id}  {guards_file}:{loaded.line}")
    print_line(f"  {one_line(guard.title)}")
    typer.echo(f"  {guard.probe} · {one_line(guard.subject)}\n")
    rows = [
        (metric, profile, bound, f"{origin} ({guards_file}:{loaded.bound_lines.get(metric, loaded.line)})")
        for metric, stated in guard.require.items()
        for profile, bound, origin in _rows(stated, guard.id)
    ]
    print_table(("metric", "profile", "bound", "from"), rows)
    for metric, stated in guard.require.items():
        for profile, anchor in stated.anchors().items():
            place = f"{metric} ({profile})" if profile else metric
            typer.echo(f"\nanchor of {place}: {anchor.value}")
            for line in _about(anchor):
                print_line(f"  {line}")


def first_anchor(guard: str) -> str:
    """Say how a bound of a guard gets its first anchor."""
    return f"run 'guardrail reanchor {guard} --class measurement --reason ...'"


def _rows(bound: Bound, guard: str) -> Iterator[tuple[str, str, str]]:
    for kind in _KINDS:
        limit = getattr(bound, kind)
        for profile, value in limit.items() if isinstance(limit, dict) else (("", limit),):
            if value is not None:
                yield profile, in_words(EffectiveLimit(kind, value)), "written"
    if bound.slack is None:
        return
    for anchored, anchor in bound.anchors().items():
        limit = derived(bound, anchor.value)
        sign = "-" if limit.kind == "floor" else "+"
        yield anchored or "", in_words(limit), f"anchor {anchor.value} {sign} slack {bound.slack}"
    if not bound.anchors():
        yield "", "none", f"not anchored; {first_anchor(guard)}"


def _about(anchor: Anchor) -> Iterator[str]:
    days = (date.today() - date.fromisoformat(anchor.date)).days
    yield f"{anchor.class_}: {one_line(anchor.reason)}" + (f" ({one_line(anchor.ref)})" if anchor.ref else "")
    yield f"commit {anchor.commit}, {anchor.date} ({days} {'day' if days == 1 else 'days'} ago)"
    if anchor.toolchain:
        yield f"measured with {one_line(anchor.toolchain)}"
    yield str(evidence_path(Path(), anchor.evidence))
