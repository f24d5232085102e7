"""A file as the subject of a guard."""

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileSubject:
    """A compiled file, a CUDA source or a Triton cache folder, with the hash of its content."""

    path: str
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "FileSubject":
        """Hash a file, or every file of a folder together with its name."""
        digest = hashlib.sha256()
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(str(file.relative_to(path)).encode())
                with file.open("rb") as stream:
                    digest.update(hashlib.file_digest(stream, "sha256").digest())
        return cls(str(path), digest.hexdigest())
