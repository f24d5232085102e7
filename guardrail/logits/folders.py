"""Two folders of dumps, file by file, with what the instrument itself changes taken into account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from guardrail.errors import ExitCode


class FileStatus(StrEnum):
    """What became of one file."""

    IDENTICAL = "identical"
    NOISE = "noise"
    """It differs between two runs of the unchanged build, so it tells nothing about another build."""
    DIFFERENT = "different"
    NONFINITE = "nonfinite"
    """Its bytes are the same, and NaN or infinite numbers are among them."""
    MISSING = "missing"
    EXTRA = "extra"


FINDINGS = frozenset({FileStatus.DIFFERENT, FileStatus.NONFINITE, FileStatus.MISSING, FileStatus.EXTRA})


@dataclass(frozen=True, slots=True)
class FileDelta:
    """How a file of one folder differs from its namesake in another."""

    elements: int
    differing: int
    nonfinite: int
    """NaN or infinite numbers of both together."""
    max_abs: float | None
    """Largest difference where both are finite; None where shapes or formats tell no numbers."""


Presence = FileDelta | None
"""None where one of the two folders lacks the file."""


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file with its status."""

    name: str
    status: FileStatus
    delta: Presence
    """PRE against POST."""
    own: Presence = None
    """PRE against the second run of the same build."""

    @property
    def beyond_noise(self) -> float | None:
        """Give how many times further the other build moved a noisy file than the instrument did."""
        if self.status is not FileStatus.NOISE or self.delta is None or self.own is None:
            return None
        if not self.delta.max_abs or self.own.max_abs is None:
            return None
        return self.delta.max_abs / self.own.max_abs if self.own.max_abs else float("inf")


@dataclass(frozen=True, slots=True)
class FolderComparison:
    """Every file of two folders."""

    files: tuple[FileResult, ...]
    factor: float

    def count(self, status: FileStatus) -> int:
        """Count the files of a status."""
        return sum(result.status is status for result in self.files)

    @property
    def findings(self) -> tuple[FileResult, ...]:
        """Pick what speaks against the other build."""
        return tuple(result for result in self.files if result.status in FINDINGS)

    @property
    def doubtful(self) -> tuple[FileResult, ...]:
        """Pick noisy files that the other build moved further than the instrument's noise explains."""
        return tuple(result for result in self.files if (result.beyond_noise or 0.0) > self.factor)

    @property
    def exit_code(self) -> ExitCode:
        """Give FAILED for a finding, and never OK where no file was identical."""
        if self.findings:
            return ExitCode.FAILED
        if self.doubtful:
            return ExitCode.UNDECIDED
        return ExitCode.OK if self.count(FileStatus.IDENTICAL) else ExitCode.NOTHING_CHECKED


def judge_folders(
    pre: Sequence[str],
    post: Sequence[str],
    deltas: Mapping[str, FileDelta],
    own: Mapping[str, Presence] | None,
    factor: float,
) -> FolderComparison:
    """Give every file its status.

    Args:
        pre: Files of the unchanged build.
        post: Files of the build in question.
        deltas: PRE against POST, for each file of both.
        own: PRE against a second run of the same build, for each file of either; None without one.
        factor: How many times further than in `own` a noisy file may move.
    """
    results = []
    for name in sorted({*pre, *post, *(own or {})}):
        delta, itself = deltas.get(name), (own or {}).get(name)
        status = _status(name in pre, name in post, delta, _is_noise(name, own))
        results.append(FileResult(name, status, delta, itself))
    return FolderComparison(tuple(results), factor)


def _is_noise(name: str, own: Mapping[str, Presence] | None) -> bool:
    if own is None or name not in own:
        return False
    itself = own[name]
    return itself is None or itself.differing > 0


def _status(in_pre: bool, in_post: bool, delta: Presence, noise: bool) -> FileStatus:
    if noise:
        return FileStatus.NOISE
    if delta is None:
        return FileStatus.EXTRA if in_post and not in_pre else FileStatus.MISSING
    if delta.differing:
        return FileStatus.DIFFERENT
    return FileStatus.NONFINITE if delta.nonfinite else FileStatus.IDENTICAL
