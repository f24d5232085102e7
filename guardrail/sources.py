"""Which source files a measurement depends on, and their hash."""

import ast
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path


def closure(modules: Iterable[str]) -> dict[str, str]:
    """Hash the given modules and every module of the same top-level package that they import, transitively.

    Imports are read from the source, so nothing is executed but the packages above a module.

    Args:
        modules: Full module names.

    Returns:
        SHA-256 of each module's source by its name. A module without Python source hashes its origin.
    """
    seen: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        path = _source_of(name)
        if path is None:
            continue
        digest, imports = _read(path, path.stat().st_mtime_ns)
        seen[name] = digest
        top = name.partition(".")[0]
        waiting.extend(found for found in imports if found.partition(".")[0] == top)
    return seen


def combined_hash(modules: Iterable[str], *parts: str) -> str:
    """Hash a closure of sources together with further text.

    Args:
        modules: Full module names.
        parts: Further text that decides the result.

    Returns:
        SHA-256 as hexadecimal digits.
    """
    digest = hashlib.sha256()
    for name, source in sorted(closure(modules).items()):
        digest.update(f"{name}={source}\n".encode())
    for part in parts:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


@functools.lru_cache(maxsize=4096)
def _source_of(name: str) -> Path | None:
    """Find a module's Python file; None for a name that is an attribute, built in or absent."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    path = Path(spec.origin)
    return path if path.suffix == ".py" else None


@functools.lru_cache(maxsize=4096)
def _read(path: Path, _modified: int) -> tuple[str, tuple[str, ...]]:
    """Hash one file and list what it may import; ``from a import b`` names both ``a`` and ``a.b``."""
    source = path.read_bytes()
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return hashlib.sha256(source).hexdigest(), ()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return hashlib.sha256(source).hexdigest(), tuple(sorted(found - set(sys.stdlib_module_names)))
