"""The caches in which compilers keep kernels between runs."""

import getpass
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from guardrail.records.doctor import CompileCache
from guardrail.records.spoiler import Spoiler


def compile_caches() -> tuple[CompileCache, ...]:
    """Read the state of each compiler's cache; a folder that is not there is an empty cache."""
    return tuple(_read(name, folder) for name, folder in cache_folders().items())


def cache_folders() -> dict[str, Path]:
    """Find each compiler's cache as the compiler itself does, by its environment variables."""
    home = Path.home()
    return {
        "triton": _folder("TRITON_CACHE_DIR", _folder("TRITON_HOME", home) / ".triton" / "cache"),
        "inductor": _folder(
            "TORCHINDUCTOR_CACHE_DIR", Path(tempfile.gettempdir(), f"torchinductor_{_user()}")
        ),
        "vllm": _folder("VLLM_CACHE_ROOT", _folder("XDG_CACHE_HOME", home / ".cache") / "vllm")
        / "torch_compile_cache",
        "driver": _folder("CUDA_CACHE_PATH", home / ".nv" / "ComputeCache"),
    }


def unwritable_caches() -> Iterator[Spoiler]:
    """Find the caches that cannot be written, so that every process compiles anew."""
    for name, folder in cache_folders().items():
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
        if not os.access(nearest, os.W_OK | os.X_OK):
            yield Spoiler(
                f"The {name} cache {folder} cannot be written, so every process compiles anew.",
                f"Make {nearest} writable, or move the cache (docs/doctor.md names its variable).",
            )


def _read(name: str, folder: Path) -> CompileCache:
    files = sorted(_files(folder))
    listing = "".join(f"{path}\0{size}\n" for path, size in files)
    return CompileCache(
        name=name,
        folder=str(folder),
        artifacts=len(files),
        bytes=sum(size for _, size in files),
        fingerprint=f"sha256:{hashlib.sha256(listing.encode('utf-8', 'surrogateescape')).hexdigest()}",
    )


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """List what a cache holds, by path within it; locks and files that vanish meanwhile are left out."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.suffix == ".lock" or name == "lock":
                continue
            try:
                yield str(path.relative_to(folder)), path.stat().st_size
            except FileNotFoundError:
                continue


def _folder(variable: str, default: Path) -> Path:
    value = os.environ.get(variable)
    return Path(value).expanduser().absolute() if value else default


def _user() -> str:
    """Name the user as torch does for its cache's folder."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid_{os.getuid()}"
    return re.sub(r'[\\/:*?"<>|]', "_", name)
