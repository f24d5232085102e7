"""Which source files a measurement depends on, and their hash."""

import ast
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

_INSTALLED = ("site-packages", "dist-packages")


def closure(modules: Iterable[str]) -> dict[str, str]:
    """Hash the given modules and every module of their authors' that they import, transitively.

    That is a module of the same top-level package, one in the same folder of modules unless it is installed,
    and any of guardrail itself; installed libraries are told apart by their versions instead. The packages
    above a module run when it is imported, so they belong to it. Imports are read from the source: nothing is
    executed but the packages above a module, and what is imported by a computed name is not seen.

    Args:
        modules: Full module names.

    Returns:
        SHA-256 of each module's file by the module's name.
    """
    seen: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        waiting.extend(_packages_above(name))
        path = _file_of(name)
        if path is None:
            continue
        digest, imports = _read(name, path, path.stat().st_mtime_ns)
        seen[name] = digest
        waiting.extend(found for found in imports if _is_followed(name, found))
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


def _packages_above(name: str) -> Iterator[str]:
    while name := name.rpartition(".")[0]:
        yield name


@functools.lru_cache(maxsize=4096)
def _spec_of(name: str) -> ModuleSpec | None:
    """Find a module; None for a name that is an attribute or absent.

    Looking a name up imports what is above it, so only packages may be above it: a module there, imported for
    the sake of one of its attributes, would bring torch along.
    """
    above = name.rpartition(".")[0]
    if above and ((parent := _spec_of(above)) is None or parent.submodule_search_locations is None):
        return None
    try:
        return importlib.util.find_spec(name)
    except (Exception, SystemExit):  # noqa: BLE001 - the packages above it may raise anything while they are imported
        return None


def _file_of(name: str) -> Path | None:
    """Find a module's file, Python source or compiled; None where it has none."""
    spec = _spec_of(name)
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    path = Path(spec.origin)
    return path if path.is_file() else None


@functools.lru_cache(maxsize=4096)
def _is_followed(importer: str, imported: str) -> bool:
    """Tell whether an imported module is its importer's own or guardrail's, not an installed library's."""
    own, other = importer.partition(".")[0], imported.partition(".")[0]
    if other in (own, "guardrail"):
        return True
    folder = _folder_of(own)
    return folder is not None and folder == _folder_of(other) and folder.name not in _INSTALLED


def _folder_of(top: str) -> Path | None:
    """Find the folder that a top-level module or package lies in."""
    spec = _spec_of(top)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).parent
    return Path(spec.origin).parent if spec.has_location and spec.origin else None


@functools.lru_cache(maxsize=4096)
def _read(name: str, path: Path, _modified: int) -> tuple[str, tuple[str, ...]]:
    """Hash one file and list what it may import; ``from a import b`` names both ``a`` and ``a.b``."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if path.suffix != ".py":
        return digest, ()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return digest, ()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (base := _imported_from(node, package)):
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return digest, tuple(sorted(found - set(sys.stdlib_module_names)))


def _imported_from(node: ast.ImportFrom, package: str) -> str | None:
    """Resolve the module of a ``from`` import; None for one that leads out of its package."""
    try:
        return importlib.util.resolve_name("." * node.level + (node.module or ""), package or None)
    except ImportError:
        return None
