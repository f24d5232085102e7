"""A run for GitHub Actions: annotations on the guards file, and the summary of a step."""

from collections.abc import Collection, Iterator, Sequence

from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters import common
from guardrail.reporters.markdown import escaped, truncated
from guardrail.reporters.text import one_line, printable, shortened

ANNOTATIONS_SHOWN = 10
"""Annotations of one kind that GitHub shows for one step."""

SUMMARY_BYTES = 1024 * 1024
"""Size of a step summary that GitHub accepts; a larger one is refused whole."""

_RUN = {"title": "guardrail"}
_TITLE_LENGTH = 255
_MESSAGE_LENGTH = 4096


def annotations(report: RunReport) -> str:
    """Write workflow commands that mark the bounds which do not hold.

    Failures and errors are ``error`` annotations, undecided verdicts and warnings ``warning`` annotations,
    worst first. Where there are more than GitHub shows of a kind, the last one says how many are left out.

    Args:
        report: The run.

    Returns:
        One command a line; empty where there is nothing to say.
    """
    errors = [_command("error", _RUN, sentence) for sentence in common.run_faults(report).values()]
    errors += _verdict_commands("error", report, (Status.FAIL, Status.ERROR))
    warnings = [_command("warning", _RUN, sentence) for sentence in common.run_warnings(report)]
    warnings += [*_verdict_commands("warning", report, (Status.UNDECIDED,)), *_warning_commands(report)]
    return "".join(f"{line}\n" for line in (*_limited("error", errors), *_limited("warning", warnings)))


def summary(report: RunReport, limit: int = SUMMARY_BYTES) -> str:
    """Write the Markdown of a step summary: what needs attention first, then a table of every guard.

    Args:
        report: The run.
        limit: Bytes of UTF-8 that the summary may have; it is cut after a whole row, and says so.

    Returns:
        The Markdown.
    """
    return truncated(tuple(_blocks(report)), limit)


def _verdict_commands(kind: str, report: RunReport, statuses: Collection[Status]) -> Iterator[str]:
    for guard in common.problems(report):
        for verdict in common.problem_verdicts(guard):
            if verdict.status in statuses:
                line = guard.line if verdict.line is None else verdict.line
                yield _command(kind, _place(report, guard, line), _message(guard, verdict))


def _warning_commands(report: RunReport) -> Iterator[str]:
    for guard in report.guards:
        for warning in common.warnings_of(guard):
            yield _command("warning", _place(report, guard, guard.line), warning)


def _place(report: RunReport, guard: GuardResult, line: int) -> dict[str, str]:
    title = shortened(one_line(guard.id), _TITLE_LENGTH)
    return {"file": one_line(report.guards_file), "line": str(line), "title": title}


def _message(guard: GuardResult, verdict: Verdict) -> str:
    lines = [verdict.sentence]
    if (beyond := common.excess(guard, verdict)) is not None:
        lines.append(f"off by {beyond}")
    lines += common.evidence(verdict)
    return shortened("\n".join(map(printable, lines)), _MESSAGE_LENGTH)


def _command(kind: str, properties: dict[str, str], message: str) -> str:
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {named}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _limited(kind: str, commands: Sequence[str]) -> Sequence[str]:
    if len(commands) <= ANNOTATIONS_SHOWN:
        return commands
    shown = commands[: ANNOTATIONS_SHOWN - 1]
    left = f"{len(commands) - len(shown)} more are not shown here (they are in the JSON report)"
    return (*shown, _command(kind, _RUN, left))


def _blocks(report: RunReport) -> Iterator[str]:
    yield f"## guardrail\n\n**{escaped(common.totals(report))}**\n\n"
    for sentence in common.run_faults(report).values():
        yield f"**error**: {escaped(sentence)}\n\n"
    for sentence in common.run_warnings(report):
        yield f"**warning**: {escaped(sentence)}\n\n"
    for guard in common.problems(report):
        yield from _problem(report, guard)
    if report.guards:
        yield "| status | guard | probe | subject | time | notes |\n| --- | --- | --- | --- | ---: | --- |\n"
    for guard in (*common.problems(report), *common.others(report)):
        notes = common.notes(guard)
        cells = (guard.status, guard.id, guard.probe, guard.subject, common.effort(guard), "; ".join(notes))
        yield f"| {' | '.join(map(escaped, cells))} |\n"


def _problem(report: RunReport, guard: GuardResult) -> Iterator[str]:
    at = common.location(report, guard.line)
    yield f"### {guard.status}: {escaped(guard.id)}\n\n{escaped(guard.title)} ({escaped(at)})\n\n"
    for verdict in common.problem_verdicts(guard):
        details = [f"{label}: {text}" for label, text in common.facts(report, guard, verdict).items()]
        lines = [f"- **{verdict.status}**: {escaped(verdict.sentence)}\n"]
        lines += [f"  - {escaped(line)}\n" for line in (*details, *common.evidence(verdict))]
        yield "".join(lines)
    yield "\n"
