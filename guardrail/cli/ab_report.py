"""What ``guardrail ab`` runs, prints and says to the shell."""

import contextlib
import sys
from pathlib import Path

from guardrail.ab.arm import loaded_files, require_unchanged
from guardrail.ab.comparison import Comparison, Verdict
from guardrail.ab.measure import compare
from guardrail.ab.plan import Plan, require_distinct, require_sound
from guardrail.ab.records import Lever, registration, require_unused, result
from guardrail.ab.runs import run_arm
from guardrail.adapters.device import Gpu, executing_gpu
from guardrail.adapters.gpu_lock import GpuLock
from guardrail.adapters.private_caches import Caches
from guardrail.adapters.surroundings import provenance
from guardrail.cli.ab_lines import Lines
from guardrail.cli.ab_request import Request, plan_of
from guardrail.errors import ExitCode, MeasurementError, UsageError
from guardrail.records.provenance import Provenance
from guardrail.store.ledger import read_ledger
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
    """
    plan = plan_of(request)
    require_sound(plan)
    loaded = {"A": loaded_files(plan.a, plan.shared), "B": loaded_files(plan.b, plan.shared)}
    require_distinct(plan, loaded["A"], loaded["B"])
    gpu = executing_gpu()
    begun = provenance(Path.cwd(), gpu, {})
    lines = Lines(plan, request.as_json)
    lever = None if plan.self_compare else _lever(request, begun)
    if lever is not None:
        ledger = read_ledger(request.ledger)
        require_unused(ledger, lever)
        registered = registration(lever, plan)
        lines.prior_art(ledger.prior_art(f"{lever.id} {lever.what}"))
        append_row(request.ledger, registered)
    lines.header(loaded, begun, None if lever is None else f"{request.ledger}, row {lever.id}")
    with _gpu_for_itself(gpu), Caches.opened(plan.cache) as caches:
        found = _run(plan, caches, lines)
    require_unchanged(plan.a, loaded["A"], plan.shared)
    require_unchanged(plan.b, loaded["B"], plan.shared)
    row = None
    if lever is not None:
        row = append_row(request.ledger, result(lever, plan, found)).row.id
    lines.end(found, loaded, begun, row)
    return _CODES[found.verdict]


def _run(plan: Plan, caches: Caches, lines: Lines) -> Comparison:
    for event in compare(plan, lambda arm: run_arm(plan, arm, caches)):
        if isinstance(event, Comparison):
            return event
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
