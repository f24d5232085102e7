from pathlib import Path

import pytest

from guardrail.adapters import demangle as module
from guardrail.adapters.demangle import demangle
from guardrail.compiled.mangled import abbreviate, restore

NAMES = (Path(__file__).parents[2] / "data" / "resources" / "mangled_names.txt").read_text().split()
LONGEST_OF_LIBSTDCXX = 1024


def test_cxx_symbols_become_readable():
    assert demangle("_Z7reverseILi256EEvPf") == "void reverse<256>(float*)"


@pytest.mark.parametrize("name", ["scale", "_Zzz", ""])
def test_other_names_stay(name):
    assert demangle(name) == name


@pytest.mark.parametrize("name", [name for name in NAMES if len(name) <= LONGEST_OF_LIBSTDCXX])
def test_abbreviating_a_name_changes_nothing_of_its_text(name):
    short, identifiers = abbreviate(name)
    assert len(short) < len(name)
    assert restore(demangle(short), identifiers) == demangle(name)


@pytest.mark.parametrize("name", [name for name in NAMES if len(name) > LONGEST_OF_LIBSTDCXX])
def test_a_name_that_libstdcxx_refuses_is_demangled_all_the_same(name):
    assert demangle(name).startswith("void cutlass::")


def test_without_a_cxx_runtime_the_mangled_name_stays(monkeypatch):
    monkeypatch.setattr(module, "_RUNTIMES", ("libdoes-not-exist.so.0",))
    module._demangler.cache_clear()
    try:
        assert demangle("_Z7reverseILi256EEvPf") == "_Z7reverseILi256EEvPf"
    finally:
        module._demangler.cache_clear()
