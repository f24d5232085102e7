"""A run for a person at a terminal: what needs attention first, the totals last."""

import io
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters import common
from guardrail.reporters.text import one_line

_STYLES = {
    Status.PASS: "green",
    Status.FAIL: "red",
    Status.ERROR: "magenta",
    Status.UNDECIDED: "yellow",
    Status.SKIPPED: "dim",
}
_STATUS_WIDTH = max(len(Status.PASS), len(Status.SKIPPED))
_INDENT = 2
_LABEL_WIDTH = len("measured")


class TerminalReporter:
    """Writes a run for a terminal.

    Args:
        width: Columns of the terminal; no line is longer.
        color: Whether to write colours (ANSI sequences).
    """

    def __init__(self, width: int, color: bool) -> None:
        self._width = width
        self._color = color

    def render(self, report: RunReport) -> str:
        """Write failures, errors and undecided guards in full, the others a line each, then the totals."""
        stream = io.StringIO()
        console = Console(
            file=stream,
            width=self._width,
            height=25,  # rich asks the environment for both where one is missing
            force_terminal=self._color,
            force_jupyter=False,
            color_system="standard" if self._color else None,
            no_color=not self._color,
            legacy_windows=False,
            markup=False,
            highlight=False,
            emoji=False,
        )
        for part in self._parts(report):
            console.print(part)
        return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().splitlines())

    def _parts(self, report: RunReport) -> Iterator[RenderableType]:
        yield _origin(report)
        yield ""
        for guard in common.problems(report):
            yield from self._problem(report, guard)
            yield ""
        rest = common.others(report)
        id_width = min(max((len(guard.id) for guard in rest), default=0), self._width * 2 // 5)
        effort_width = max((len(common.effort(guard)) for guard in rest), default=0)
        for probe, guards in common.by_probe(rest).items():
            yield Text(one_line(probe), style="bold")
            for guard in guards:
                yield self._row(guard, id_width, effort_width)
                yield from _notes(guard)
            yield ""
        faults = common.run_faults(report)
        for sentence in faults.values():
            yield Text(f"error: {sentence}", style=_STYLES[Status.ERROR])
        warnings = common.run_warnings(report)
        for sentence in warnings:
            yield Text(f"warning: {sentence}", style=_STYLES[Status.UNDECIDED])
        if faults or warnings:
            yield ""
        yield Text(common.totals(report), style="bold")

    def _problem(self, report: RunReport, guard: GuardResult) -> Iterator[RenderableType]:
        yield self._heading(guard, common.location(report, guard.line))
        yield _indented(Text(one_line(guard.title)))
        yield _indented(
            Text(one_line(f"{guard.probe} · {guard.subject} · {common.effort(guard)}"), style="dim")
        )
        for verdict in common.problem_verdicts(guard):
            yield ""
            lead = "" if verdict.status is guard.status else f"{verdict.status}: "
            yield _indented(Text(lead + one_line(verdict.sentence), style=_STYLES[verdict.status]))
            yield _indented(_details(report, guard, verdict), 2 * _INDENT)
        holding = sum(verdict.status is Status.PASS for verdict in guard.verdicts)
        if holding:
            yield ""
            yield _indented(
                Text(f"{holding} other {'bound holds' if holding == 1 else 'bounds hold'}", "dim")
            )
        yield from _notes(guard)

    def _heading(self, guard: GuardResult, location: str) -> Text:
        status = (guard.status.upper(), f"bold {_STYLES[guard.status]}")
        left = Text.assemble(status, "  ", (one_line(guard.id), "bold"))
        rule = self._width - left.cell_len - cell_len(location) - 2
        if rule < 1:
            return Text.assemble(left, "\n", (f"  {location}", "dim"))
        return Text.assemble(left, (f" {'─' * rule} {location}", "dim"))

    def _row(self, guard: GuardResult, id_width: int, effort_width: int) -> Text:
        row = Text(" " * _INDENT)
        row.append(f"{guard.status:{_STATUS_WIDTH}}", _STYLES[guard.status])
        row.append(f"  {one_line(guard.id):{id_width}}  ")
        title = Text(one_line(guard.title), style="dim")
        title.truncate(max(self._width - row.cell_len - effort_width - 2, 0), overflow="ellipsis", pad=True)
        row.append_text(title)
        row.append(f"  {common.effort(guard):>{effort_width}}", "dim")
        return row


def _origin(report: RunReport) -> Text:
    provenance = report.provenance
    facts = [report.guards_file]
    if provenance.commit:
        facts.append(f"commit {provenance.commit[:12]}" + (" with changes" if provenance.dirty else ""))
    facts.append(provenance.device or "no GPU")
    if report.judged_from:
        facts.append(f"judged again from {report.judged_from}")
    origin = "".join(f" · {one_line(fact)}" for fact in facts)
    return Text.assemble((f"guardrail {one_line(report.version)}", "bold"), (origin, "dim"))


def _details(report: RunReport, guard: GuardResult, verdict: Verdict) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=_LABEL_WIDTH, style="dim")
    table.add_column(overflow="fold")
    for label, text in common.facts(report, guard, verdict).items():
        table.add_row(label, Text(text))
    for position, line in enumerate(common.evidence(verdict)):
        table.add_row("" if position else "evidence", Text(line))
    return table


def _notes(guard: GuardResult) -> Iterator[RenderableType]:
    indent = _INDENT if guard.status in common.PROBLEMS else _INDENT + _STATUS_WIDTH + 2
    lead = "" if guard.status is Status.SKIPPED else "skipped: "
    for reason in common.skip_reasons(guard):
        yield _indented(Text(lead + reason, style="dim"), indent)
    for warning in common.warnings_of(guard):
        yield _indented(Text(f"warning: {warning}", style="yellow"), indent)


def _indented(content: RenderableType, columns: int = _INDENT) -> Padding:
    return Padding(content, (0, 0, 0, columns), expand=False)
