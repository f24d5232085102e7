"""Reading two or three folders of dumps for a comparison file by file."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.adapters.logits.formats import SUFFIXES, read_file
from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.difference import delta_of, differing_elements, nonfinite_elements
from guardrail.logits.dump import LOGITS
from guardrail.logits.folders import FileDelta, FolderComparison, Presence, judge_folders

if TYPE_CHECKING:
    from numpy.typing import NDArray


def compare_folders(pre: Path, post: Path, own: Path | None, factor: float) -> FolderComparison:
    """Compare every file of two folders, and of a second run of the first build where there is one.

    Args:
        pre: Dumps of the unchanged build.
        post: Dumps of the build in question.
        own: Dumps of a second run of the unchanged build.
        factor: How many times further than between its own runs a noisy file may move.

    Raises:
        UsageError: One is no folder, or two are the same.
        MeasurementError: A file cannot be read, or the first folder holds none.
    """
    folders = [folder for folder in (pre, post, own) if folder is not None]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: there is no such folder")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("the same folder is given twice; a run compared with itself tells nothing")
    names = {folder: _files(folder) for folder in folders}
    if not names[pre]:
        raise MeasurementError(f"{pre}: holds no file to compare with")
    deltas = {name: _delta(pre / name, post / name) for name in names[pre] if name in names[post]}
    itself = None if own is None else _own(pre, names[pre], own, names[own])
    alone = {name for name in names[post] if name in (itself or {}) and name not in names[pre]}
    nonfinite_alone = {name for name in alone if _has_nonfinite(post / name)}
    return judge_folders(names[pre], names[post], deltas, itself, factor, nonfinite_alone)


def _own(pre: Path, first: Iterable[str], own: Path, second: Iterable[str]) -> dict[str, Presence]:
    both = set(first) & set(second)
    return {name: _delta(pre / name, own / name) if name in both else None for name in {*first, *second}}


def _files(folder: Path) -> list[str]:
    """List files with their path inside the folder; what begins with a dot is none of a dump's."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))


def _has_nonfinite(path: Path) -> bool:
    return path.suffix in SUFFIXES and any(map(nonfinite_elements, read_file(path).tensors.values()))


def _delta(one: Path, other: Path) -> FileDelta:
    """Compare two files: by their tensors where these are known, for metadata tells times; else by bytes."""
    if one.suffix not in SUFFIXES:
        return _delta_of_bytes(one, other)
    ours, theirs = read_file(one).tensors, read_file(other).tensors
    parts = [_delta_of_tensors(ours, theirs, name) for name in sorted(ours.keys() | theirs.keys())]
    largest = [part.max_abs for part in parts if part.max_abs is not None]
    return FileDelta(
        elements=sum(part.elements for part in parts),
        differing=sum(part.differing for part in parts),
        nonfinite=sum(part.nonfinite for part in parts),
        max_abs=max(largest, default=None),
        unlike=sum(part.unlike for part in parts),
    )


def _delta_of_tensors(ours: Mapping[str, Any], theirs: Mapping[str, Any], name: str) -> FileDelta:
    present = [tensors[name] for tensors in (ours, theirs) if name in tensors]
    nonfinite = sum(map(nonfinite_elements, present))
    if len(present) == 1:
        return FileDelta(present[0].size, max(present[0].size, 1), nonfinite, None, unlike=1)
    one, other = present
    if one.shape != other.shape or one.dtype != other.dtype:
        return FileDelta(one.size, differing_elements(one, other), nonfinite, None, unlike=1)
    delta = delta_of(one, other)
    largest = None if nonfinite and not delta.compared else delta.max_abs
    return FileDelta(delta.elements, delta.differing, nonfinite, largest)


def _delta_of_bytes(one: Path, other: Path) -> FileDelta:
    try:
        ours, theirs = one.read_bytes(), other.read_bytes()
    except OSError as error:
        raise MeasurementError(f"{error.filename}: cannot be read: {error.strerror}") from error
    import numpy as np

    pair = [np.frombuffer(content, dtype=np.uint8) for content in (ours, theirs)]
    return FileDelta(len(ours), differing_elements(*pair), 0, None)


def read_logits_pair(one: Path, other: Path) -> "Iterator[tuple[str, tuple[NDArray[Any], NDArray[Any]]]]":
    """Read the rows of logits that two files have in common, for a picture.

    A file holds logits where its name begins with that word, or a tensor's does.

    Yields:
        A label for what is not the file's only row, and the row of each.
    """
    if one.suffix not in SUFFIXES:
        return
    ours, theirs = read_file(one).tensors, read_file(other).tensors
    for name in sorted(ours.keys() & theirs.keys()):
        first, second = ours[name], theirs[name]
        named = (name or one.stem).startswith(LOGITS)
        if not named or first.shape != second.shape or first.ndim == 0 or first.size == 0:
            continue
        rows = [array.reshape(-1, array.shape[-1]) for array in (first, second)]
        for number, pair in enumerate(zip(*rows, strict=True)):
            label = f" {name}" if name else ""
            yield label + (f" [{number}]" if len(rows[0]) > 1 else ""), (pair[0], pair[1])
