"""The instructions of compiled kernels, and Triton kernels compiled for a GPU that is not there."""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from guardrail.families import Build


def disassembled(cubin: Path) -> dict[str, list[str]]:
    """List the instructions of each kernel, by the disassembler that Triton's package carries."""
    triton = importlib.util.find_spec("triton")
    if triton is None or triton.origin is None:
        pytest.skip("Triton, which carries a disassembler, is not installed")
    tools = Path(triton.origin).parent / "backends" / "nvidia" / "bin"
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    command: list[str | Path] = [tools / "cuobjdump", "--dump-sass", cubin]
    text = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
    ).stdout
    kernels: dict[str, list[str]] = {}
    for line in text.splitlines():
        if name := re.search(r"Function : (\S+)", line):
            instructions = kernels.setdefault(name[1], [])
        elif instruction := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            instructions.append(instruction[1])
    return kernels


def compiled_by_triton(function: str, build: Build, arch: int, folder: Path) -> Path:
    """Compile a Triton kernel in a process of its own: in the tests' own, kernels may be interpreted.

    Args:
        function: ``module:name``.
        build: Argument types, constants and launch size.
        arch: Compute capability, 90.
        folder: Where the cubin goes.
    """
    asked = {"function": function, **asdict(build), "arch": arch, "cubin": str(folder / "kernel.cubin")}
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    command = [sys.executable, "-m", "helpers.sass", json.dumps(asked)]
    subprocess.run(command, env=environment, check=True)
    return Path(asked["cubin"])


def _compile(asked: dict[str, Any]) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module, _, name = asked["function"].partition(":")
    kernel = getattr(importlib.import_module(module), name)
    types = {name: kind.partition(":")[0] for name, kind in asked["signature"].items()}
    types |= dict.fromkeys(asked["constants"], "constexpr")
    divisible = {
        (kernel.arg_names.index(name),): [["tt.divisibility", int(kind.partition(":")[2])]]
        for name, kind in asked["signature"].items()
        if ":" in kind
    }
    in_order = {name: types[name] for name in kernel.arg_names}
    source = ASTSource(kernel, in_order, asked["constants"], divisible)
    options = {"num_warps": asked["warps"], "num_stages": asked["stages"]}
    compiled = triton.compile(source, target=GPUTarget("cuda", asked["arch"], 32), options=options)
    Path(asked["cubin"]).write_bytes(compiled.asm["cubin"])


if __name__ == "__main__":
    _compile(json.loads(sys.argv[1]))
