"""The caches in which compilers keep kernels between runs."""

import getpass
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from guardrail.records.doctor import CompileCache
from guardrail.records.spoiler import Spoiler


def compile_caches(environment: Mapping[str, str] = os.environ) -> tuple[CompileCache, ...]:
    """Read the state of each compiler's cache; a folder that is not there is an empty cache.

    Args:
        environment: The variables that the compilers are run with.
    """
    return tuple(_read(name, folder) for name, folder in cache_folders(environment).items())


def cache_folders(environment: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Find each compiler's cache as the compiler itself does, by its environment variables."""

    def named(variable: str, default: Path) -> Path:
        value = environment.get(variable)
        return Path(value).expanduser().absolute() if value else default

    home = Path.home()
    return {
        "triton": named("TRITON_CACHE_DIR", named("TRITON_HOME", home) / ".triton" / "cache"),
        "inductor": named("TORCHINDUCTOR_CACHE_DIR", Path(tempfile.gettempdir(), f"torchinductor_{_user()}")),
        "vllm": named("VLLM_CACHE_ROOT", named("XDG_CACHE_HOME", home / ".cache") / "vllm")
        / "torch_compile_cache",
        "driver": named("CUDA_CACHE_PATH", home / ".nv" / "ComputeCache"),
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


def _user() -> str:
    """Name the user as torch does for its cache's folder."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid_{os.getuid()}"
    return re.sub(r'[\\/:*?"<>|]', "_", name)
