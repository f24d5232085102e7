import importlib
import inspect
import subprocess
import sys

import pytest

from guardrail.kernels.q4k.manifest import FAMILY


def references():
    for subject in FAMILY.subjects().values():
        for candidate in (subject, *(control.mutant for control in subject.controls)):
            yield from candidate.references


@pytest.mark.parametrize("reference", sorted(set(references())))
def test_every_reference_resolves_to_something_callable(reference):
    module, _, attribute = reference.partition(":")
    resolved = getattr(importlib.import_module(module), attribute)
    assert callable(resolved) or hasattr(resolved, "run")


@pytest.mark.parametrize("kernel", FAMILY.kernels, ids=lambda kernel: kernel.name)
def test_each_build_names_every_argument_of_its_kernel_once(kernel):
    module, _, attribute = kernel.function.partition(":")
    function = getattr(importlib.import_module(module), attribute)
    arguments = list(inspect.signature(function.fn).parameters)
    assert function.fn.__name__ == kernel.name
    for build in kernel.builds:
        assert sorted([*build.signature, *build.constants]) == sorted(arguments)


def test_the_manifest_imports_neither_torch_nor_triton():
    code = (
        "import sys, guardrail.kernels.q4k.manifest, guardrail.kernels.q4k.gate;"
        "import guardrail.kernels.q4k.coverage;"
        "print({'torch', 'triton', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_kernels_compile_without_torch():
    code = "import sys, guardrail.kernels.q4k.mmvq; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
