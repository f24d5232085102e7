import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from guardrail import registry
from guardrail.errors import UsageError
from guardrail.families import Family, Gate, Kernel, Operation, Plan
from guardrail.spec.fields import SLUG_PATTERN
from helpers.folders import install, write_module

TWO_KERNELS = """
    from guardrail.families import Family, Kernel

    FAMILY = Family("mine", "title", kernels=(Kernel("one", "mine:one", ()), Kernel("two", "mine:two", ())))
    NUMBER = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path whose modules are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    importlib.invalidate_caches()


def test_the_bundled_families_are_found_with_their_subjects():
    found = registry.families()
    assert {"int4_attention", "q6k"} <= set(found)
    assert isinstance(found["q6k"].subjects()["mmvq"], Gate)
    assert isinstance(found["int4_attention"].subjects()["scratch"], Plan)


def test_the_bundled_families_load_without_device_libraries():
    code = (
        "import sys; from guardrail import registry; registry.families(); registry.probes();"
        "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_every_probe_is_made():
    found = registry.probes()
    assert list(found) == [
        "capacity",
        "census",
        "command",
        "decode",
        "dispatch",
        "kv_budget",
        "logits",
        "numerics",
        "pool",
        "quality",
        "reduction_layouts",
        "resources",
        "serving",
        "timing",
        "vllm_logits",
    ]


def find(name, *kinds):
    return registry.find_subject(name, registry.families(), kinds or (Kernel, Operation, Gate, Plan))


def test_a_subject_of_a_bundled_family_is_found_by_its_name():
    assert find("q6k.matvec", Operation).name == "matvec"


def test_a_subject_of_a_user_s_module_is_found_by_its_name(folder):
    write_module(folder, "pack.mine", TWO_KERNELS)
    assert find("pack.mine:FAMILY.two", Kernel).name == "two"
    assert registry.find_family("pack.mine:FAMILY.two", {}).name == "mine"


def test_a_family_alone_names_its_only_subject_of_a_kind(folder):
    assert find("int4_attention", Gate).name == "dispatch"
    write_module(folder, "mine", TWO_KERNELS)
    with pytest.raises(UsageError) as caught:
        find("mine:FAMILY", Kernel)
    assert str(caught.value) == "'mine:FAMILY' names a family alone; add one kernel of it: one, two"


@pytest.mark.parametrize(
    ("name", "kinds", "message"),
    [
        (
            "q7k.mmvq",
            (Gate,),
            "there is no family 'q7k' and no file 'q7k.mmvq'; known families: int4_attention, q4k, ",
        ),
        ("q6k.mmvk", (Gate,), "family q6k has no gate 'mmvk'; it has: mmvq"),
        ("q6k.mmvq", (Plan,), "family q6k has no plan 'mmvq'; it has: none"),
        ("q6k.mmvq", (Kernel, Operation), "family q6k has no kernel or operation 'mmvq'; it has: "),
        ("build/x.so", (Gate,), "subject 'build/x.so' is neither family.name, module:family.name nor a file"),
        ("no_such_module:FAMILY.x", (Gate,), "no_such_module:FAMILY: cannot import no_such_module: "),
        ("math:pi.x", (Gate,), "math:pi is a float, not a guardrail.families.Family"),
        ("math:tau2.x", (Gate,), "math:tau2: math has no tau2"),
    ],
)
def test_a_subject_that_cannot_be_found_says_what_there_is(name, kinds, message):
    with pytest.raises(UsageError) as caught:
        find(name, *kinds)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise RuntimeError('no GPU')", "RuntimeError: no GPU"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("def (", "SyntaxError: invalid syntax"),
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_raises_while_it_is_imported_is_named(folder, text, message):
    write_module(folder, "broken", text)
    with pytest.raises(UsageError) as caught:
        find("broken:FAMILY.x")
    assert str(caught.value).startswith(f"broken:FAMILY: cannot import broken: {message}")


def test_two_subjects_of_one_name_are_refused(folder):
    write_module(folder, "twins", TWO_KERNELS.replace('"two"', '"one"'))
    with pytest.raises(UsageError) as caught:
        find("twins:FAMILY.one")
    assert str(caught.value) == "twins:FAMILY: family mine: two subjects are named 'one'"


def test_families_of_installed_packages_are_found(folder):
    write_module(folder, "theirs", TWO_KERNELS)
    install(folder, "theirs", "guardrail.families", {"theirs": "theirs:FAMILY"})
    assert isinstance(registry.families()["mine"], Family)


def test_a_second_family_of_a_name_is_refused(folder):
    write_module(folder, "theirs", TWO_KERNELS.replace('"mine"', '"q6k"'))
    install(folder, "theirs", "guardrail.families", {"theirs": "theirs:FAMILY"})
    with pytest.raises(UsageError, match=r"^theirs:FAMILY: a family named 'q6k' exists already$"):
        registry.families()


def test_probes_of_installed_packages_are_found(folder):
    write_module(folder, "sonde", "class Probe:\n    metrics = ()")
    install(folder, "sonde", "guardrail.probes", {"sonde": "sonde:Probe"})
    assert type(registry.probes()["sonde"]).__module__ == "sonde"


def test_a_second_probe_of_a_name_is_refused(folder):
    install(folder, "sonde", "guardrail.probes", {"dispatch": "sonde:Probe"})
    with pytest.raises(
        UsageError, match=r"^entry point sonde:Probe: a probe named 'dispatch' exists already$"
    ):
        registry.probes()


def test_controls_are_named_by_slugs():
    named = [
        (family.name, subject, control.name)
        for family in registry.families().values()
        for subject, value in family.subjects().items()
        for control in value.controls
    ]
    assert len(named) > 50
    assert [entry for entry in named if not re.fullmatch(SLUG_PATTERN, entry[-1])] == []
