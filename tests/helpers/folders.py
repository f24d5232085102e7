"""Modules and installed packages that a test writes for itself."""

from pathlib import Path
from textwrap import dedent


def write_module(folder: Path, name: str, text: str) -> None:
    """Write one module, with the packages above it, into a folder that is on the path."""
    path = folder.joinpath(*name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    for above in path.relative_to(folder).parents:
        if above.name:
            (folder / above / "__init__.py").touch()
    path.write_text(dedent(text), encoding="utf-8")


def install(folder: Path, name: str, group: str, entries: dict[str, str]) -> None:
    """Make a folder that is on the path hold an installed distribution with entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = "".join(f"{key} = {value}\n" for key, value in entries.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}", encoding="utf-8")
