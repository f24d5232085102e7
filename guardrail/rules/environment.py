"""What a run's environment variables did to what it measured."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from guardrail.records.provenance import Provenance
from guardrail.records.report import GuardResult
from guardrail.records.spoiler import Spoiler
from guardrail.records.verdict import Status, Verdict
from guardrail.rules.debug_knobs import debug_knobs

_PREFIX = "GUARDRAIL_"
_ALIKE = 0.85
"""Likeness from which on a name counts as a misspelling of another, as `difflib` has it."""


def misspelt(environment: Mapping[str, str], known: Iterable[str]) -> Iterator[Spoiler]:
    """Find variables that nothing reads and that are a slip of the pen away from one that something does.

    Args:
        environment: Environment variables.
        known: Names that guardrail and its families read.
    """
    names = frozenset(known)
    for name in environment:
        if name.startswith(_PREFIX) and name not in names:
            for meant in get_close_matches(name, names, n=1, cutoff=_ALIKE):
                yield Spoiler(
                    f"Nothing reads {name}; the variable is called {meant}, which counts as "
                    f"{'set' if meant in environment else 'not set'}.",
                    f"unset {name}, or call it {meant}",
                )


def switched(environment: Mapping[str, str], meanings: Mapping[str, str]) -> Iterator[str]:
    """Say which switches of kernel families are set: a path that one of them closes is not missed by a gate.

    Args:
        environment: Environment variables.
        meanings: What each variable of the families does.
    """
    for name in sorted(environment.keys() & meanings.keys()):
        yield f"{name}={environment[name]} is in force: {meanings[name]}"


def in_one_sentence(spoiler: Spoiler) -> str:
    """Write what spoils and what to do about it."""
    return f"{spoiler.what.rstrip('.')}; {spoiler.remedy}"


def debugged(provenance: Provenance) -> tuple[Spoiler, ...]:
    """Find the debug variables that were in force while a run measured."""
    return tuple(debug_knobs(provenance.knobs, with_gpu=provenance.device is not None))


def review_environment(result: GuardResult, provenance: Provenance) -> GuardResult:
    """Leave undecided what was sampled under a debug variable: such a time is not the code's own.

    What is counted or read stays as it was judged.

    Args:
        result: What was measured and decided for a guard.
        provenance: What it was measured with.
    """
    sampled = [item.metric for item in result.measurements if item.samples]
    bounded = [verdict for verdict in result.verdicts if verdict.metric in sampled]
    if not bounded:
        return result
    names = ", ".join(dict.fromkeys(verdict.metric for verdict in bounded))
    found = tuple(
        Verdict(Status.UNDECIDED, "debug-variable", f"{names}: {spoiler.what.rstrip('.')}", line=result.line)
        for spoiler in debugged(provenance)
    )
    return replace(result, verdicts=(*result.verdicts, *found))
