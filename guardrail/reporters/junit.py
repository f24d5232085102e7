"""A run as JUnit XML, for the test views of GitLab, Jenkins and others."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement

from guardrail.records.measurement import Measurement
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters import common
from guardrail.reporters.text import one_line

_RUN_SUITE = "guardrail"


class JunitReporter:
    """Writes a run as JUnit XML: one testsuite for each probe, one testcase for each guard.

    A guard that fails is a ``failure``. One that could not be measured is an ``error``, and so is one that is
    undecided (of type ``undecided``), because the format has no third state and undecided is not a pass. Each
    testcase has at most one such element, since consumers read only the first; its text holds every verdict.
    What keeps a run from passing without a guard of its own (an absent profile, nothing checked) is a
    testcase of the suite ``guardrail``.
    """

    def render(self, report: RunReport) -> str:
        """Write an XML document; characters that XML cannot hold are left out."""
        root = Element("testsuites", name=_RUN_SUITE)
        faults = common.run_faults(report)
        _count(root, report.guards, len(faults), report.seconds)
        for probe, guards in common.by_probe(report.guards).items():
            suite = SubElement(root, "testsuite", name=one_line(probe))
            _count(suite, guards, 0, sum(guard.seconds for guard in guards))
            _describe(suite, report)
            for guard in guards:
                _add_guard(suite, report, guard)
        if faults:
            suite = SubElement(root, "testsuite", name=_RUN_SUITE)
            _count(suite, (), len(faults), 0.0)
            for code, sentence in faults.items():
                case = SubElement(suite, "testcase", classname=_RUN_SUITE, name=code, time="0.000")
                SubElement(case, "error", type=code, message=sentence)
        ElementTree.indent(root)
        body = ElementTree.tostring(root, encoding="unicode")
        return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _describe(suite: Element, report: RunReport) -> None:
    suite.set("hostname", one_line(report.provenance.host))
    suite.set("timestamp", one_line(report.provenance.time))
    properties = SubElement(suite, "properties")
    for name, value in _circumstances(report):
        SubElement(properties, "property", name=one_line(name), value=one_line(value))


def _add_guard(suite: Element, report: RunReport, guard: GuardResult) -> None:
    case = SubElement(
        suite,
        "testcase",
        classname=one_line(f"{guard.probe}.{guard.subject}"),
        name=one_line(guard.id),
        time=f"{guard.seconds:.3f}",
        file=one_line(report.guards_file),
        line=str(guard.line),
    )
    if guard.status is Status.SKIPPED:
        SubElement(case, "skipped", message="; ".join(common.skip_reasons(guard)))
    elif guard.status in common.PROBLEMS:
        verdicts = common.problem_verdicts(guard)
        outcome = SubElement(case, "failure" if guard.status is Status.FAIL else "error")
        outcome.set("type", "undecided" if guard.status is Status.UNDECIDED else one_line(verdicts[0].code))
        outcome.set("message", _message(verdicts))
        outcome.text = "\n".join(line for verdict in verdicts for line in _explain(report, guard, verdict))
    SubElement(case, "system-out").text = "\n".join(_log(guard))


def _message(verdicts: Sequence[Verdict]) -> str:
    more = f" (and {len(verdicts) - 1} more)" if len(verdicts) > 1 else ""
    return one_line(verdicts[0].sentence) + more


def _explain(report: RunReport, guard: GuardResult, verdict: Verdict) -> Iterable[str]:
    yield f"{verdict.status}: {one_line(verdict.sentence)}"
    for label, text in common.facts(report, guard, verdict).items():
        yield f"  {label}: {text}"
    for line in verdict.evidence:
        yield f"  {one_line(line)}"


def _log(guard: GuardResult) -> Iterable[str]:
    yield one_line(guard.title)
    for measurement in guard.measurements:
        yield _number(measurement)
    if guard.cached:
        yield "cached: every measurement is from an earlier run"
    yield from common.notes(guard)


def _number(measurement: Measurement) -> str:
    name = one_line(measurement.metric)
    if measurement.where:
        name += f" ({common.place(measurement.where)})"
    text = f"{name} = {common.quantity(measurement.value, measurement.unit)}"
    if measurement.interval:
        low, high = measurement.interval
        text += f", interval {low:.6g} to {high:.6g}"
    if measurement.samples:
        text += f", {len(measurement.samples)} samples"
    return text


def _circumstances(report: RunReport) -> Iterable[tuple[str, str]]:
    provenance = report.provenance
    yield "guardrail", report.version
    yield "command", provenance.command
    yield "python", provenance.python
    yield "device", provenance.device or "none"
    if provenance.commit:
        yield "commit", provenance.commit + (" with changes" if provenance.dirty else "")
    if report.judged_from:
        yield "judged from", report.judged_from
    yield from (("warning", sentence) for sentence in common.run_warnings(report))
    versions = {name: version for name, version in provenance.versions.items() if name != "python"}
    yield from (*versions.items(), *provenance.knobs.items())


def _count(element: Element, guards: Sequence[GuardResult], faults: int, seconds: float) -> None:
    statuses = [guard.status for guard in guards]
    counts = {
        "tests": len(guards) + faults,
        "failures": statuses.count(Status.FAIL),
        "errors": statuses.count(Status.ERROR) + statuses.count(Status.UNDECIDED) + faults,
        "skipped": statuses.count(Status.SKIPPED),
    }
    for name, count in counts.items():
        element.set(name, str(count))
    element.set("time", f"{seconds:.3f}")
