"""Measurements kept by what they depend on, so that an unchanged subject is not measured twice."""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from guardrail.engine import Runner
from guardrail.errors import UsageError
from guardrail.records.task import Done, Outcome, Task

CACHE_VARIABLE = "GUARDRAIL_CACHE_DIR"
"""Environment variable that names another cache folder."""


def cache_folder() -> Path:
    """Locate the cache: ``GUARDRAIL_CACHE_DIR``, else the platform's folder for caches."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_dir("guardrail"))


@dataclass(frozen=True, slots=True)
class CacheSize:
    """How much a cache holds."""

    entries: int
    bytes: int


class MeasurementCache:
    """Outcomes of tasks on disk, one file a key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "measurements"

    def get(self, key: str) -> Done | None:
        """Look a key up; an unreadable entry counts as absent."""
        try:
            entry = json.loads(self._path(key).read_text())
            return Done(entry["value"], entry["seconds"], cached=True)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, outcome: Done) -> None:
        """Keep an outcome; a cache that cannot be written is no reason to fail a check."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".new", delete=False) as file:
                written = Path(file.name)
                try:
                    json.dump({"value": outcome.value, "seconds": outcome.seconds}, file)
                    file.flush()
                    written.replace(path)
                except OSError:
                    written.unlink(missing_ok=True)  # a full disk must not be filled by halves of entries
                    raise
        except OSError:
            return

    def size(self) -> CacheSize:
        """Count entries and bytes.

        Raises:
            UsageError: The folder cannot be read.
        """
        sizes = []
        try:
            for path in self._folder.glob("*/*.json"):
                with contextlib.suppress(FileNotFoundError):  # another process has just cleared it
                    sizes.append(path.stat().st_size)
        except OSError as error:
            raise UsageError(f"{self._folder}: cannot be read: {error.strerror}") from error
        return CacheSize(len(sizes), sum(sizes))

    def clear(self) -> CacheSize:
        """Remove every entry and say how much that was.

        Raises:
            UsageError: An entry cannot be removed.
        """
        size = self.size()
        for path in self._folder.glob("*/*"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise UsageError(f"{path}: cannot be removed: {error.strerror}") from error
        return size

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


class CachingRunner:
    """Answers tasks from a cache and hands the rest to another runner, each distinct task once.

    Args:
        inner: Runs what the cache does not hold.
        cache: Where outcomes are kept.
        key: Computes a task's key from everything its outcome depends on.
        fresh: Measure everything again, and keep the new outcomes.
    """

    def __init__(
        self, inner: Runner, cache: MeasurementCache, key: Callable[[Task], str], fresh: bool
    ) -> None:
        self._inner = inner
        self._cache = cache
        self._key = key
        self._fresh = fresh
        self._measured: dict[str, Outcome] = {}

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        """See `guardrail.engine.Runner.run`."""
        positions: dict[str, list[int]] = {}
        for index, task in enumerate(tasks):
            positions.setdefault(self._key(task), []).append(index)
        missing: list[str] = []
        for key, places in positions.items():
            known = self._measured.get(key) or self._kept(key, tasks[places[0]])
            if known is None:
                missing.append(key)
            else:
                yield from ((index, known) for index in places)
        if not missing:
            return
        for place, outcome in self._inner.run([tasks[positions[key][0]] for key in missing]):
            key = missing[place]
            self._measured[key] = outcome
            if isinstance(outcome, Done) and tasks[positions[key][0]].reusable:
                self._cache.put(key, outcome)
            yield from ((index, outcome) for index in positions[key])

    def _kept(self, key: str, task: Task) -> Done | None:
        return self._cache.get(key) if task.reusable and not self._fresh else None


def canonical(value: Any) -> str:
    """Write plain data and dataclasses as one unambiguous line, without the controls that a subject carries.

    Raises:
        UsageError: The value holds something else.
    """
    try:
        return json.dumps(value, default=_fields, sort_keys=True)
    except TypeError as error:
        raise UsageError(
            f"a manifest may hold strings, numbers and dataclasses of them only: {error}"
        ) from error


def _fields(value: Any) -> Any:
    names = [name for name in getattr(value, "__dataclass_fields__", ()) if name != "controls"]
    if not names:
        raise TypeError(f"{value!r} is a {type(value).__name__}")
    return {"type": type(value).__name__} | {name: getattr(value, name) for name in names}
