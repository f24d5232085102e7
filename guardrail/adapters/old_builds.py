"""Measuring guards on another build: an older git revision in a work tree of its own, or a command."""

import contextlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from guardrail.errors import MeasurementError, UsageError

GUARD_FIELD = "{guard}"
"""What a command's template holds in the place of the guard's id."""

_GIT_SECONDS = 120
_RUN_SECONDS = 3600
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class OldBuild:
    """A build that measures guards beside the one of this tree."""

    command: tuple[str, ...]
    folder: Path

    def measure(self, guard: str) -> str:
        """Measure one guard.

        Args:
            guard: Its id.

        Returns:
            The report in JSON, whatever the verdict.

        Raises:
            MeasurementError: The command cannot be run, takes over an hour, or prints nothing.
        """
        words = [word.replace(GUARD_FIELD, guard) for word in self.command]
        shown = shlex.join(words)
        try:
            ran = subprocess.run(
                words, cwd=self.folder, capture_output=True, text=True, timeout=_RUN_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise MeasurementError(f"--against: {shown} cannot be run: {error}") from error
        if not ran.stdout.strip():
            said = ran.stderr.strip()[-_SHOWN:] or "nothing"
            raise MeasurementError(
                f"--against: {shown} ended with {ran.returncode} and without a report; it said: {said}"
            )
        return ran.stdout


@contextlib.contextmanager
def old_build(against: str, guards_file: Path) -> Iterator[OldBuild]:
    """Prepare a build to measure against, and remove its work tree in the end.

    Args:
        against: A git revision, or a command that holds ``{guard}`` and prints a report in JSON.
        guards_file: The guards file, whose checkout revisions are of.

    Raises:
        UsageError: It is neither.
        MeasurementError: The work tree cannot be made.
    """
    folder = guards_file.resolve().parent
    if GUARD_FIELD in against:
        yield OldBuild(tuple(shlex.split(against)), folder)
        return
    commit = _git(folder, "rev-parse", "--verify", "--quiet", f"{against}^{{commit}}")
    top = _git(folder, "rev-parse", "--show-toplevel")
    if commit is None or top is None:
        raise UsageError(
            f"--against {against}: expected a git revision of {folder}, or a command that holds "
            f"{GUARD_FIELD} and prints the report of 'guardrail check --format json'"
        )
    with tempfile.TemporaryDirectory(prefix="guardrail-against-") as temporary:
        tree = Path(temporary) / "tree"
        if _git(folder, "worktree", "add", "--detach", str(tree), commit) is None:
            raise MeasurementError(f"--against {against}: 'git worktree add' failed in {folder}")
        try:
            place = tree / guards_file.resolve().relative_to(top)
            yield OldBuild(_check_command(place), place.parent)
        finally:
            _git(folder, "worktree", "remove", "--force", str(tree))


def _check_command(guards_file: Path) -> tuple[str, ...]:
    """Let the revision check by its own guardrail where it holds one: the folder of a module comes first."""
    check: Sequence[str] = ("check", "--guards", guards_file.name, "--only", GUARD_FIELD)
    return (sys.executable, "-m", "guardrail", *check, "--format", "json", "--fresh")


def _git(folder: Path, *arguments: str) -> str | None:
    """Run git; None where it is missing or fails."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
