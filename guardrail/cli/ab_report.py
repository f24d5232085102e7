"""What ``guardrail ab`` runs, prints and says to the shell."""

import contextlib
import os
import sys
from pathlib import Path

from guardrail.ab.comparison import Comparison, Pair, Spoiled, Verdict, Warmed
from guardrail.ab.records import Lever
from guardrail.adapters.device import Gpu, executing_gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.surroundings import provenance
from guardrail.cli.ab_commands import CommandContest
from guardrail.cli.ab_contest import Contest
from guardrail.cli.ab_lines import Lines
from guardrail.cli.ab_request import Request, plan_of, subject_plan_of
from guardrail.cli.ab_rows import Rows
from guardrail.cli.ab_subjects import SubjectContest
from guardrail.errors import ExitCode, MeasurementError, UsageError
from guardrail.records.provenance import Provenance
from guardrail.rules.debug_knobs import debug_knobs
from guardrail.rules.environment import in_one_sentence

_CODES = {
    Verdict.ACCEPT: ExitCode.OK,
    Verdict.VETO: ExitCode.FAILED,
    Verdict.UNDECIDED: ExitCode.UNDECIDED,
}


def run_comparison(request: Request) -> ExitCode:
    """Check, register, run and record a comparison.

    Raises:
        UsageError: The command line asks for something that cannot be, or a row or standard output cannot be
            written.
        ConfigurationError: The ledger is wrong.
        MeasurementError: A run failed; a row that is registered stays without a result.
        UndecidedError: Too little was left to judge; the same holds for the row.
    """
    contest: Contest = (
        SubjectContest.of(subject_plan_of(request)) if request.case else CommandContest.of(plan_of(request))
    )
    gpu = executing_gpu()
    begun = provenance(Path.cwd(), gpu, {})
    lines = Lines(contest, request.as_json)
    lever = None if contest.terms.self_compare else _lever(request, begun)
    _require_no_debugging(gpu)
    contest.require_measurable(gpu)
    rows = None if lever is None else Rows(request.ledger, lever, contest.terms)
    if rows is not None:
        lines.prior_art(rows.prior_art)
    lines.header(begun)
    try:
        with _gpu_for_itself(gpu):
            found = _run(contest, lines, rows)
        contest.require_unchanged()
        concluded = None if rows is None else rows.conclude(found)
    except BaseException as end:
        if rows is not None:
            end.add_note(rows.left_behind())
        raise
    lines.end(found, begun, concluded)
    return _CODES[found.verdict]


def _require_no_debugging(gpu: Gpu | None) -> None:
    """Refuse to time anything under a debug variable that both arms have.

    Raises:
        UsageError: One is in force.
    """
    for spoiler in debug_knobs(os.environ, with_gpu=gpu is not None):
        raise UsageError(
            f"{in_one_sentence(spoiler)}, or give it to one arm (--b-env) to measure what it costs"
        )


def _run(contest: Contest, lines: Lines, rows: Rows | None) -> Comparison:
    for event in contest.events():
        match event:
            case Warmed():
                lines.table(None if rows is None else rows.register())
            case Pair():
                lines.pair(event)
            case Spoiled():
                lines.spoiled(event)
            case Comparison():
                return event
    raise MeasurementError("no pair was run")


def _lever(request: Request, begun: Provenance) -> Lever:
    """Collect what a row of the ledger needs."""
    given = {"--id": request.name, "--what": request.what, "--mechanism": request.mechanism}
    if missing := [option for option, value in given.items() if not value]:
        raise UsageError(
            f"give {' and '.join(missing)}: the criterion is written into {request.ledger} "
            "before the first run that counts"
        )
    commit = f"{begun.commit}{' with changes' if begun.dirty else ''}" if begun.commit else None
    return Lever(str(request.name), str(request.what), str(request.mechanism), begun.time[:10], commit)


def _gpu_for_itself(gpu: Gpu | None) -> contextlib.AbstractContextManager[None]:
    return GpuLock(gpu.uuid, sys.stderr).held() if gpu else contextlib.nullcontext()
