import importlib
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from textwrap import dedent

import pytest

from guardrail import sources
from guardrail.sources import closure, combined_hash

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    """Write modules into a folder on the path, by dotted name or by file name."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path.joinpath(*name.split("__")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))
            for folder in path.relative_to(tmp_path).parents:
                if folder.name:
                    (tmp_path / folder / "__init__.py").touch()
        forget()
        return tmp_path

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]
    forget()


def forget() -> None:
    """Start as a new process does."""
    importlib.invalidate_caches()
    for cached in (sources._spec_of, sources._is_followed, sources._read):
        cached.cache_clear()


def test_imports_are_followed_from_module_to_module(tree):
    tree(
        pkg__kernel="from pkg.shared import UNIT\nimport pkg.deep.tile",
        pkg__shared="import pkg.constants",
        pkg__constants="UNIT = 1",
        pkg__deep__tile="",
        pkg__unrelated="",
    )
    assert sorted(closure(["pkg.kernel"])) == [
        "pkg",
        "pkg.constants",
        "pkg.deep",
        "pkg.deep.tile",
        "pkg.kernel",
        "pkg.shared",
    ]


def test_the_hash_is_that_of_the_file(tree):
    folder = tree(pkg__kernel="X = 1\n")
    assert (
        closure(["pkg.kernel"])["pkg.kernel"] == sha256((folder / "pkg/kernel.py").read_bytes()).hexdigest()
    )


@pytest.mark.parametrize(
    "line",
    [
        "from . import constants",
        "from .constants import UNIT",
        "from pkg import constants",
        "import pkg.constants as c",
        "def late():\n    from pkg.constants import UNIT",
        "if True:\n    import pkg.constants",
    ],
)
def test_every_way_of_importing_is_seen(tree, line):
    tree(pkg__kernel=line, pkg__constants="UNIT = 1")
    assert "pkg.constants" in closure(["pkg.kernel"])


def test_relative_imports_of_a_package_and_of_its_parent_are_seen(tree):
    folder = tree(pkg__sub__inner="X = 1", pkg__outer="Y = 1")
    (folder / "pkg" / "sub" / "__init__.py").write_text("from .inner import X\nfrom ..outer import Y")
    assert sorted(closure(["pkg.sub"])) == ["pkg", "pkg.outer", "pkg.sub", "pkg.sub.inner"]


def test_a_package_that_runs_with_its_module_belongs_to_it(tree):
    folder = tree(pkg__kernel="")
    (folder / "pkg" / "__init__.py").write_text("import pkg.patches")
    tree(pkg__patches="")
    assert sorted(closure(["pkg.kernel"])) == ["pkg", "pkg.kernel", "pkg.patches"]


def test_installed_libraries_are_not_followed(tree):
    tree(pkg__kernel="import json\nimport yaml\nimport os.path")
    assert sorted(closure(["pkg.kernel"])) == ["pkg", "pkg.kernel"]


def test_modules_beside_one_another_are_followed(tree):
    tree(gate="from limits import REACH", limits="REACH = 64", other="")
    assert sorted(closure(["gate"])) == ["gate", "limits"]


def test_modules_beside_one_another_are_not_where_they_are_installed(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "gate_lib.py").write_text("import limits_lib")
    (folder / "limits_lib.py").touch()
    monkeypatch.syspath_prepend(folder)
    forget()
    assert list(closure(["gate_lib"])) == ["gate_lib"]


def test_modules_of_guardrail_are_followed_from_anywhere(tree):
    tree(pkg__gate="from guardrail.kernels.q6k import geometry")
    assert "guardrail.kernels.q6k.geometry" in closure(["pkg.gate"])


def test_circular_imports_end(tree):
    tree(pkg__one="import pkg.two", pkg__two="import pkg.one")
    assert sorted(closure(["pkg.one"])) == ["pkg", "pkg.one", "pkg.two"]


def test_a_module_that_does_not_parse_is_hashed_alone(tree):
    tree(pkg__broken="import pkg.other\ndef (", pkg__other="")
    assert sorted(closure(["pkg.broken"])) == ["pkg", "pkg.broken"]


@pytest.mark.parametrize("raised", ["RuntimeError('no GPU')", "SystemExit(3)"])
def test_a_package_that_cannot_be_imported_hides_its_modules_and_raises_nothing(tree, raised):
    folder = tree(angry__kernel="")
    (folder / "angry" / "__init__.py").write_text(f"raise {raised}")
    forget()
    assert list(closure(["angry.kernel"])) == ["angry"]


def test_names_of_no_module_are_left_out(tree):
    tree(pkg__kernel="from pkg.kernel import function\nfrom pkg.gone import *\nfrom .... import far")
    assert sorted(closure(["pkg.kernel", "absent", "sys"])) == ["pkg", "pkg.kernel"]


CHAIN = {
    "pkg__top": "import pkg.middle",
    "pkg__middle": "import pkg.leaf",
    "pkg__leaf": "X = 1",
    "pkg__sibling": "Y = 1",
}


@pytest.mark.parametrize(
    ("changed", "affected"),
    [
        ("leaf", {"top", "middle", "leaf"}),
        ("middle", {"top", "middle"}),
        ("top", {"top"}),
        ("sibling", {"sibling"}),
    ],
)
def test_a_change_reaches_what_imports_it_and_nothing_else(tree, changed, affected):
    def hashes():
        return {name: combined_hash([f"pkg.{name}"]) for name in ("top", "middle", "leaf", "sibling")}

    tree(**CHAIN)
    before = hashes()
    tree(**{f"pkg__{changed}": CHAIN[f"pkg__{changed}"] + "\n# changed"})
    after = hashes()
    assert {name for name in before if before[name] != after[name]} == affected


def test_further_parts_are_told_apart(tree):
    tree(pkg__kernel="")
    hashes = {
        combined_hash(["pkg.kernel"], *parts) for parts in [(), ("ab",), ("a", "b"), ("b", "a"), ("ab", "")]
    }
    assert len(hashes) == 5


def test_the_order_of_modules_does_not_matter(tree):
    tree(pkg__one="", pkg__two="")
    assert combined_hash(["pkg.one", "pkg.two"]) == combined_hash(["pkg.two", "pkg.one"])


def test_looking_for_an_imported_name_imports_no_module(tree):
    tree(mine__leaf="VALUE = 1\n", mine__root="from mine.leaf import VALUE\n")
    assert set(closure(["mine.root"])) == {"mine", "mine.leaf", "mine.root"}
    assert "mine.leaf" not in sys.modules
