import importlib
import subprocess
import sys
from typing import Any

import pytest

from guardrail.families.interface import Kernel
from guardrail.kernels.int4_attention.manifest import FAMILY

SUBJECTS = FAMILY.subjects()


def resolve(reference: str) -> Any:
    module, attribute = reference.split(":")
    return getattr(importlib.import_module(module), attribute)


def test_the_manifest_imports_neither_torch_nor_triton() -> None:
    manifest = "guardrail.kernels.int4_attention.manifest"
    program = f"import sys, {manifest}; print(sorted({{'torch', 'triton'}} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_reference_resolves(name: str) -> None:
    subject = SUBJECTS[name]
    for stated in (subject, *(control.mutant for control in subject.controls)):
        assert all(callable(resolve(reference)) for reference in stated.references)


@pytest.mark.parametrize("kernel", FAMILY.kernels, ids=lambda kernel: kernel.name)
def test_builds_name_every_argument_once(kernel: Kernel) -> None:
    arguments = resolve(kernel.function).arg_names
    for build in kernel.builds:
        assert sorted([*build.signature, *build.constants]) == sorted(arguments)


def test_every_subject_has_a_control_that_differs() -> None:
    for subject in SUBJECTS.values():
        assert subject.controls
        for control in subject.controls:
            assert control.turns_red
            assert control.mutant != subject
