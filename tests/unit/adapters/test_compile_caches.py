import getpass
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from guardrail.adapters.compile_caches import cache_folders, compile_caches, unwritable_caches

VARIABLES = (
    "TRITON_CACHE_DIR",
    "TRITON_HOME",
    "TORCHINDUCTOR_CACHE_DIR",
    "VLLM_CACHE_ROOT",
    "XDG_CACHE_HOME",
    "CUDA_CACHE_PATH",
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of its own, with no variable that moves a cache."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path


def _cache(name):
    return next(cache for cache in compile_caches() if cache.name == name)


def _write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_caches_are_where_their_compilers_keep_them(home):
    assert cache_folders() == {
        "triton": home / ".triton" / "cache",
        "inductor": home / "tmp" / f"torchinductor_{getpass.getuser()}",
        "vllm": home / ".cache" / "vllm" / "torch_compile_cache",
        "driver": home / ".nv" / "ComputeCache",
    }


def test_variables_move_caches(home, monkeypatch):
    monkeypatch.setenv("TRITON_HOME", "/t")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    folders = cache_folders()
    assert (folders["triton"], folders["vllm"]) == (
        Path("/t/.triton/cache"),
        Path("/x/vllm/torch_compile_cache"),
    )
    monkeypatch.setenv("TRITON_CACHE_DIR", "~/kernels")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/i")
    monkeypatch.setenv("VLLM_CACHE_ROOT", "/v")
    monkeypatch.setenv("CUDA_CACHE_PATH", "/c")
    assert list(cache_folders().values()) == [
        home / "kernels",
        Path("/i"),
        Path("/v/torch_compile_cache"),
        Path("/c"),
    ]


def test_triton_agrees_on_its_folder(home):
    pytest.importorskip("triton")
    # In a process of its own: triton reads its environment once.
    script = "from triton import knobs; print(knobs.cache.dir)"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert cache_folders()["triton"] == Path(said.strip())


def test_a_folder_that_is_not_there_is_a_cold_cache(home):
    cache = _cache("vllm")
    assert (cache.artifacts, cache.bytes) == (0, 0)
    assert cache.fingerprint == f"sha256:{hashlib.sha256(b'').hexdigest()}"


def test_a_warm_cache_is_counted_and_its_names_and_sizes_are_its_fingerprint(home):
    folder = home / ".triton" / "cache"
    _write(folder / "KEYB" / "k.cubin", b"12345")
    _write(folder / "KEYA" / "k.json", b"{}")
    _write(folder / "KEYA" / "k.lock", b"")
    cache = _cache("triton")
    assert (cache.artifacts, cache.bytes, cache.folder) == (2, 7, str(folder))
    listing = b"KEYA/k.json\x002\nKEYB/k.cubin\x005\n"
    assert cache.fingerprint == f"sha256:{hashlib.sha256(listing).hexdigest()}"


def test_touching_a_file_keeps_the_fingerprint_and_compiling_one_changes_it(home):
    folder = home / ".triton" / "cache"
    _write(folder / "KEYA" / "k.cubin", b"12345")
    warm = _cache("triton").fingerprint
    os.utime(folder / "KEYA" / "k.cubin", (0, 0))
    assert _cache("triton").fingerprint == warm
    _write(folder / "KEYB" / "k.cubin", b"12345")
    assert _cache("triton").fingerprint != warm


def test_a_cache_that_cannot_be_written_spoils(home, monkeypatch):
    assert list(unwritable_caches()) == []
    monkeypatch.setenv("CUDA_CACHE_PATH", "/proc/kernels")
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith("/proc"))
    (spoiler,) = unwritable_caches()
    assert spoiler.what == "The driver cache /proc/kernels cannot be written, so every process compiles anew."
    assert spoiler.remedy.startswith("Make /proc writable, ")
