"""What several reporters pick out of a run, in the same order and the same words."""

from collections.abc import Iterable, Mapping, Sequence

from guardrail.errors import ExitCode
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters.text import one_line

EVIDENCE_SHOWN = 8
"""Evidence lines that are shown for one verdict; the JSON report holds all of them."""

PROBLEMS = (Status.FAIL, Status.ERROR, Status.UNDECIDED)
"""The outcomes that need a reader, worst first."""

_COUNTED = (Status.PASS, Status.FAIL, Status.ERROR, Status.UNDECIDED, Status.SKIPPED)


def problems(report: RunReport) -> tuple[GuardResult, ...]:
    """Pick the guards that need a reader: failures, then errors, then the undecided, each in file order."""
    return tuple(guard for status in PROBLEMS for guard in report.guards if guard.status is status)


def others(report: RunReport) -> tuple[GuardResult, ...]:
    """Pick the guards that passed or were skipped, in file order."""
    return tuple(guard for guard in report.guards if guard.status not in PROBLEMS)


def by_probe(guards: Iterable[GuardResult]) -> Mapping[str, Sequence[GuardResult]]:
    """Group guards by probe, both in the order in which they come."""
    groups: dict[str, list[GuardResult]] = {}
    for guard in guards:
        groups.setdefault(guard.probe, []).append(guard)
    return groups


def problem_verdicts(guard: GuardResult) -> tuple[Verdict, ...]:
    """Pick the verdicts that keep a guard from passing, worst first.

    Returns:
        The verdicts; for a guard that has none at all, one error that says so.
    """
    if not guard.verdicts:
        return (Verdict(Status.ERROR, "nothing-judged", "the guard ended without a verdict"),)
    return tuple(verdict for status in PROBLEMS for verdict in guard.verdicts if verdict.status is status)


def skip_reasons(guard: GuardResult) -> tuple[str, ...]:
    """Say why parts of a guard were skipped, each reason once, with the places it holds for."""
    places: dict[str, list[str]] = {}
    for verdict in guard.verdicts:
        if verdict.status is Status.SKIPPED:
            places.setdefault(one_line(verdict.sentence), []).append(place(verdict.where))
    return tuple(
        f"{reason} ({'; '.join(named)})" if (named := [name for name in names if name]) else reason
        for reason, names in places.items()
    )


def warnings_of(guard: GuardResult) -> tuple[str, ...]:
    """Collect the warnings of a guard, each once and on one line."""
    return tuple(dict.fromkeys(map(one_line, guard.warnings)))


def notes(guard: GuardResult) -> tuple[str, ...]:
    """List what was skipped and warned of, each line beginning with which of both it is."""
    skipped = (f"skipped: {reason}" for reason in skip_reasons(guard))
    return (*skipped, *(f"warning: {warning}" for warning in warnings_of(guard)))


def run_faults(report: RunReport) -> Mapping[str, str]:
    """Name what keeps a run from passing although no guard of its own shows it.

    Returns:
        One sentence by stable code: required profiles that are absent, and a run that checked nothing.
    """
    faults: dict[str, str] = {}
    if report.absent_profiles:
        names = ", ".join(map(one_line, report.absent_profiles))
        faults["absent-profile"] = f"required profiles that are not this machine's: {names}"
    if report.exit_code is ExitCode.NOTHING_CHECKED:
        faults["nothing-checked"] = "nothing was checked: no guard measured anything on this machine"
    return faults


def run_warnings(report: RunReport) -> tuple[str, ...]:
    """Collect the warnings of a run as a whole, each once and on one line."""
    return tuple(dict.fromkeys(map(one_line, report.warnings)))


def place(where: Mapping[str, str]) -> str:
    """Write what was measured exactly, as ``build id5120, arch sm_90``."""
    return ", ".join(one_line(f"{axis} {value}") for axis, value in where.items())


def location(report: RunReport, line: int) -> str:
    """Write a place in the guards file as ``guards.yaml:12``."""
    return f"{one_line(report.guards_file)}:{line}"


def quantity(value: float | int | None, unit: str) -> str:
    """Write a number with its unit; six significant digits for a fraction, all digits of a whole number."""
    if value is None:
        return "not known"
    digits = str(value) if isinstance(value, int) else f"{value:.6g}"
    return f"{digits} {one_line(unit)}".strip()


def duration(seconds: float) -> str:
    """Write a time in seconds, and in minutes from one minute on."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def effort(guard: GuardResult) -> str:
    """Write what a guard cost: its time, ``cached``, or a dash where it was skipped."""
    if guard.status is Status.SKIPPED:
        return "-"
    return "cached" if guard.cached else duration(guard.seconds)


def excess(guard: GuardResult, verdict: Verdict) -> str | None:
    """Write how far a measurement lies beyond its bound; None where it does not.

    Where an interval decided, the distance is that of its nearer end, so that much at least.
    """
    if verdict.excess is None:
        return None
    shown = quantity(verdict.excess, verdict.unit)
    interval = _interval(guard, verdict)
    if interval is None or interval[0] == interval[1]:
        return shown
    return f"at least {shown} (interval {' to '.join(quantity(end, '') for end in interval)})"


def _interval(guard: GuardResult, verdict: Verdict) -> tuple[float, float] | None:
    """Find the interval of what was judged; None where it is exact."""
    judged = (verdict.metric, verdict.where, verdict.measured)
    for each in guard.measurements:
        if each.interval is not None and (each.metric, each.where, each.value) == judged:
            return each.interval
    return None


def facts(report: RunReport, guard: GuardResult, verdict: Verdict) -> Mapping[str, str]:
    """List what a verdict rests on besides its sentence and evidence, by label, each on one line."""
    rows: dict[str, str] = {}
    if verdict.metric:
        rows["metric"] = one_line(verdict.metric)
    if verdict.where:
        rows["where"] = place(verdict.where)
    if verdict.bound:
        at = "" if verdict.line is None else f"  ({location(report, verdict.line)})"
        rows["measured"] = quantity(verdict.measured, verdict.unit)
        rows["bound"] = one_line(verdict.bound) + at
    if (beyond := excess(guard, verdict)) is not None:
        rows["off by"] = beyond
    return rows


def evidence(verdict: Verdict) -> Sequence[str]:
    """Pick the evidence to show, one line each; the last says how many lines are left out, where any are."""
    shown = [one_line(line) for line in verdict.evidence[:EVIDENCE_SHOWN]]
    left = len(verdict.evidence) - len(shown)
    return [*shown, f"… {left} more (in the JSON report)"] if left else shown


def totals(report: RunReport) -> str:
    """Sum a run up in one line: ``31 guards: 30 pass, 1 fail (4.2 s, 20 cached)``."""
    guards = "1 guard" if len(report.guards) == 1 else f"{len(report.guards)} guards"
    counts = [f"{count} {status}" for status in _COUNTED if (count := report.count(status))]
    if absent := len(report.absent_profiles):
        counts.append(f"{absent} required {'profile' if absent == 1 else 'profiles'} absent")
    cached = sum(guard.cached for guard in report.guards)
    cost = duration(report.seconds) + (f", {cached} cached" if cached else "")
    return f"{guards}: {', '.join(counts) or 'nothing to check'} ({cost})"
