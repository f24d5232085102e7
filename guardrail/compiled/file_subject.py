"""A file as the subject of a guard."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_BYTECODE = "__pycache__"


@dataclass(frozen=True, slots=True)
class FileSubject:
    """A compiled file, a CUDA source or a Triton cache folder, with the hash of its content."""

    path: str
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "FileSubject":
        """Hash a file, a CUDA source with what it includes by quotes, or a folder with the names in it.

        What Python caches in a folder when it imports from there says nothing of the subject.

        Raises:
            OSError: Something cannot be read.
        """
        digest = hashlib.sha256()
        for file in _files(path):
            digest.update(str(file.relative_to(path)).encode() if path.is_dir() else file.name.encode())
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return cls(str(path), digest.hexdigest())


def _files(path: Path) -> Iterator[Path]:
    """List every file that a subject consists of, in a stable order."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and _BYTECODE not in file.relative_to(path).parts:
                yield file
    elif path.suffix == ".cu":
        yield from _with_includes(path, set())
    else:
        yield path


def _with_includes(path: Path, seen: set[Path]) -> Iterator[Path]:
    if not path.is_file() or path.resolve() in seen:
        return
    seen.add(path.resolve())
    yield path
    for name in _INCLUDE.findall(path.read_bytes()):
        yield from _with_includes(path.parent / name.decode(errors="replace"), seen)
