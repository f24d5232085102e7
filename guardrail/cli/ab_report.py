"""What ``guardrail ab`` runs, prints and says to the shell."""

import contextlib
import os
import sys
from pathlib import Path

from guardrail.ab.comparison import Comparison, Spoiled, Verdict
from guardrail.ab.records import Lever, registration, require_unused, result
from guardrail.adapters.device import Gpu, executing_gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.surroundings import provenance
from guardrail.cli.ab_commands import CommandContest
from guardrail.cli.ab_contest import Contest
from guardrail.cli.ab_lines import Lines
from guardrail.cli.ab_request import Request, plan_of, subject_plan_of
from guardrail.cli.ab_subjects import SubjectContest
from guardrail.errors import ExitCode, MeasurementError, UsageError
from guardrail.records.provenance import Provenance
from guardrail.rules.debug_knobs import debug_knobs
from guardrail.rules.environment import in_one_sentence
from guardrail.store.ledger import read_begun_ledger
from guardrail.store.ledger_append import append_row

_CODES = {
    Verdict.ACCEPT: ExitCode.OK,
    Verdict.VETO: ExitCode.FAILED,
    Verdict.UNDECIDED: ExitCode.UNDECIDED,
}


def run_comparison(request: Request) -> ExitCode:
    """Check, register, run and record a comparison.

    Raises:
        UsageError: The command line asks for something that cannot be; nothing has run.
        ConfigurationError: The ledger is wrong; nothing has run.
        MeasurementError: A run failed; the registered row stays without a result.
        UndecidedError: Too little was left to judge; the same holds for the row.
    """
    contest: Contest = (
        SubjectContest.of(subject_plan_of(request)) if request.case else CommandContest.of(plan_of(request))
    )
    terms = contest.terms
    gpu = executing_gpu()
    begun = provenance(Path.cwd(), gpu, {})
    lines = Lines(contest, request.as_json)
    lever = None if terms.self_compare else _lever(request, begun)
    _require_no_debugging(gpu)
    contest.require_measurable(gpu)
    if lever is not None:
        ledger = read_begun_ledger(request.ledger)
        require_unused(ledger, lever)
        registered = registration(lever, terms)
        lines.prior_art(ledger.prior_art(f"{lever.id} {lever.what}"))
        append_row(request.ledger, registered)
    lines.header(begun, None if lever is None else f"{request.ledger}, row {lever.id}")
    with _gpu_for_itself(gpu):
        found = _run(contest, lines)
    contest.require_unchanged()
    row = None
    if lever is not None:
        row = append_row(request.ledger, result(lever, terms, found)).row.id
    lines.end(found, begun, row)
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


def _run(contest: Contest, lines: Lines) -> Comparison:
    for event in contest.events():
        if isinstance(event, Comparison):
            return event
        if isinstance(event, Spoiled):
            lines.spoiled(event)
        else:
            lines.pair(event)
    raise MeasurementError("no pair was run")


def _lever(request: Request, begun: Provenance) -> Lever:
    """Collect what a row of the ledger needs."""
    given = {"--id": request.name, "--what": request.what, "--mechanism": request.mechanism}
    if missing := [option for option, value in given.items() if not value]:
        raise UsageError(
            f"give {' and '.join(missing)}: the criterion is written into {request.ledger} "
            "before the first run"
        )
    commit = f"{begun.commit}{' with changes' if begun.dirty else ''}" if begun.commit else None
    return Lever(str(request.name), str(request.what), str(request.mechanism), begun.time[:10], commit)


def _gpu_for_itself(gpu: Gpu | None) -> contextlib.AbstractContextManager[None]:
    return GpuLock(gpu.uuid, sys.stderr).held() if gpu else contextlib.nullcontext()
