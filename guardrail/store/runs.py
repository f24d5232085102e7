"""Saved reports: judged again without measuring, and refused when they are about other code."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from guardrail.engine import Job
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict
from guardrail.reporters.json import SavedReportError, load
from guardrail.rules.bounds import judge


def read_report(path: Path) -> RunReport:
    """Read a saved report.

    Raises:
        GuardrailError: The file cannot be read or is not a report of this version.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SavedReportError(str(path), "there is no such file") from None
    except IsADirectoryError:
        raise SavedReportError(str(path), "this is a folder, not a file") from None
    except UnicodeDecodeError:
        raise SavedReportError(str(path), "the file is not UTF-8 text") from None
    except OSError as error:
        raise SavedReportError(str(path), f"the file cannot be read: {error.strerror}") from None
    return load(text, str(path))


def judge_again(path: Path, jobs: Sequence[Job], guards_file: str) -> RunReport:
    """Apply the current bounds to the measurements of a saved report.

    A guard whose subject's sources differ from those that were measured, or that the report does not hold, is
    an error: a report cannot vouch for code that it never saw.

    Args:
        path: The saved report.
        jobs: The guards to judge, with the hashes of their subjects as they are now.
        guards_file: Name of the guards file for the new report.

    Raises:
        GuardrailError: The file cannot be read or is not a report of this version.
    """
    saved = read_report(path)
    known = {result.id: result for result in saved.guards}
    results = tuple(_judge_one(job, known.get(job.loaded.guard.id), path) for job in jobs)
    return replace(saved, guards_file=guards_file, guards=results, judged_from=str(path))


def _judge_one(job: Job, saved: GuardResult | None, path: Path) -> GuardResult:
    guard, line = job.loaded.guard, job.loaded.line
    fault = _mismatch(job, saved, path)
    if saved is None or fault:
        # Neither measurements nor a hash: the new report, judged again in its turn, must not vouch for them.
        verdict = Verdict(Status.ERROR, "stale-report", fault, line=line)
        return GuardResult(guard.id, guard.title, guard.probe, guard.subject, line, (verdict,))
    verdicts = judge(job.loaded, [*saved.measurements, *saved.unmeasured])
    return replace(saved, title=guard.title, line=line, verdicts=tuple(verdicts))


def _mismatch(job: Job, saved: GuardResult | None, path: Path) -> str:
    """Say why a saved result cannot stand for a guard; empty where it can."""
    if saved is None:
        return f"{path} holds no result for this guard; measure it again"
    if (saved.probe, saved.subject) != (job.loaded.guard.probe, job.loaded.guard.subject):
        return f"{path} measured {saved.subject} with probe {saved.probe}, not what the guard asks for"
    if saved.subject_hash != job.subject_hash:
        return f"{path} measured {saved.subject} from other sources, or for another profile; measure it again"
    return ""
