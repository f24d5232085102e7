"""Two folders of dumps, file by file, with what the instrument itself changes taken into account."""

from collections.abc import Collection, Mapping, Sequence
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
    """It holds NaN or infinite numbers, and its bytes are the same or differ as noise does."""
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
    """Largest difference where both are finite; None where no numbers can be held against each other."""
    unlike: int = 0
    """Tensors that only one of the two has, or that have another shape or type."""


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
    nonfinite_alone: Collection[str] = (),
) -> FolderComparison:
    """Give every file its status.

    Args:
        pre: Files of the unchanged build.
        post: Files of the build in question.
        deltas: PRE against POST, for each file of both.
        own: PRE against a second run of the same build, for each file of either; None without one.
        factor: How many times further than in `own` a noisy file may move.
        nonfinite_alone: Files of `post` without a namesake in `pre` that hold NaN or infinite numbers.
    """
    results = []
    for name in sorted({*pre, *post, *(own or {})}):
        delta, itself = deltas.get(name), (own or {}).get(name)
        if own is None or name not in own:
            status = _status(name in pre, name in post, delta)
        else:
            status = _status_with_own(name in pre, name in post, delta, itself, name in nonfinite_alone)
        results.append(FileResult(name, status, delta, itself))
    return FolderComparison(tuple(results), factor)


def _status_with_own(
    in_pre: bool, in_post: bool, delta: Presence, itself: Presence, nonfinite_alone: bool
) -> FileStatus:
    """Name what became of a file that the unchanged build leaves in one of its two runs, or in both."""
    if itself is not None:
        if not in_post:
            return FileStatus.MISSING
        if delta is not None and delta.unlike and not itself.unlike:
            return FileStatus.DIFFERENT
        if not itself.differing:
            return _status(in_pre, in_post, delta)
    nonfinite = nonfinite_alone or any(part is not None and part.nonfinite for part in (delta, itself))
    return FileStatus.NONFINITE if nonfinite else FileStatus.NOISE


def _status(in_pre: bool, in_post: bool, delta: Presence) -> FileStatus:
    if delta is None:
        return FileStatus.EXTRA if in_post and not in_pre else FileStatus.MISSING
    if delta.differing:
        return FileStatus.DIFFERENT
    return FileStatus.NONFINITE if delta.nonfinite else FileStatus.IDENTICAL
