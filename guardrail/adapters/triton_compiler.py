"""Triton kernels compiled for any architecture, without a GPU."""

import contextlib
import importlib
import io
import re
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from guardrail.adapters.cuobjdump import read_binary
from guardrail.compiled.architectures import WARP_SIZE, compute_capability
from guardrail.compiled.ptxas_log import parse_ptxas_log
from guardrail.compiled.reductions import parse_reductions
from guardrail.compiled.resources import KernelResources
from guardrail.errors import MeasurementError, ToolMissingError, UsageError
from guardrail.families import Build, Reference

_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)")
# A kernel's Python runs while it is compiled, and may raise anything that Python code raises.
_COMPILE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class _Compilation:
    cubin: bytes
    ttgir: str
    log: str
    threads: int
    dynamic_shared_bytes: int


def compile_build(function: Reference, build: Build, arch: str) -> KernelResources:
    """Compile one build of a Triton kernel and read what it takes.

    The compiler's cache is neither read nor written, so that ptxas runs and its log is that of this very
    binary.

    Args:
        function: The kernel.
        build: Argument types, constants and launch size.
        arch: ``sm_90``.

    Returns:
        The kernel's resources, all of them known; named ``symbol [build]``.

    Raises:
        ToolMissingError: Triton is not installed.
        UsageError: The reference does not name a Triton kernel, or the build does not fit its arguments.
        MeasurementError: The kernel does not compile, or this process interprets kernels.
    """
    compilation = _compile_freshly(function, build, arch)
    return _read(compilation, build, arch, _toolchain(compute_capability(arch)))


def read_reductions(function: Reference, build: Build, arch: str) -> list[dict[str, Any]]:
    """Compile one build of a Triton kernel and list its reductions.

    Args:
        function: The kernel.
        build: Argument types, constants and launch size.
        arch: ``sm_90``.

    Returns:
        Plain data: the fields of each `guardrail.compiled.reductions.Reduction`, in program order.

    Raises:
        ToolMissingError: Triton is not installed.
        UsageError: The reference does not name a Triton kernel, or the build does not fit its arguments.
        MeasurementError: The kernel does not compile, or this process interprets kernels.
    """
    return [asdict(found) for found in parse_reductions(_compile_freshly(function, build, arch).ttgir)]


def _compile_freshly(function: Reference, build: Build, arch: str) -> _Compilation:
    """Compile past the cache, or say what is wrong; see `compile_build`."""
    try:
        import triton
    except ImportError as error:
        raise ToolMissingError(
            f"triton ({error})", "compile kernels", "Run: pip install 'gpu-guardrail[gpu]'"
        ) from None
    if triton.knobs.runtime.interpret:
        raise MeasurementError(
            f"{function}: TRITON_INTERPRET is set, so kernels are interpreted and never compiled; unset it"
        )
    kernel = _resolve(function)
    try:
        return _compile(kernel, build, compute_capability(arch))
    except (triton.TritonError, *_COMPILE_ERRORS) as error:
        raise MeasurementError(
            f"{function}, build {build.name}: does not compile for {arch}: {error}"
        ) from error


def _resolve(function: Reference) -> Any:
    from triton.runtime import JITFunction

    module, _, attribute = function.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{function}: no such kernel: {error}") from error
    while not isinstance(found, JITFunction) and hasattr(found, "fn"):
        found = found.fn
    if not isinstance(found, JITFunction):
        raise UsageError(f"{function}: not a Triton kernel; expected a function under @triton.jit")
    return found


def _compile(kernel: Any, build: Build, capability: int) -> _Compilation:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature, divisible = _signature(kernel.arg_names, build)
    attributes = {(kernel.arg_names.index(name),): [["tt.divisibility", n]] for name, n in divisible.items()}
    source = ASTSource(kernel, signature, dict(build.constants), attributes)
    options: dict[str, Any] = {
        "num_warps": build.warps,
        "num_stages": build.stages,
        "enable_fp_fusion": build.fp_fusion,
    }
    if build.max_registers is not None:
        options["maxnreg"] = build.max_registers
    log = io.StringIO()
    knobs = triton.knobs
    with (
        tempfile.TemporaryDirectory() as cache,
        knobs.cache.scope(),
        knobs.compilation.scope(),
        knobs.nvidia.scope(),
        contextlib.redirect_stdout(log),
    ):
        knobs.cache.dir = cache
        knobs.compilation.always_compile = True
        knobs.nvidia.dump_ptxas_log = True
        compiled = triton.compile(source, GPUTarget("cuda", capability, WARP_SIZE), options)
    return _Compilation(
        cubin=compiled.asm["cubin"],
        ttgir=compiled.asm["ttgir"],
        log=log.getvalue(),
        threads=compiled.metadata.num_warps * WARP_SIZE,
        dynamic_shared_bytes=compiled.metadata.shared,
    )


def _signature(arguments: list[str], build: Build) -> tuple[dict[str, str], dict[str, int]]:
    """Give each argument's type in order, and the divisibility that some of them promise."""
    unknown = {*build.signature, *build.constants} - set(arguments)
    if unknown:
        raise UsageError(f"build {build.name}: the kernel has no argument {', '.join(sorted(unknown))}")
    types: dict[str, str] = {}
    divisible: dict[str, int] = {}
    for name in arguments:
        if name in build.constants:
            types[name] = "constexpr"
        elif name in build.signature:
            types[name], _, divisor = build.signature[name].partition(":")
            if divisor:
                divisible[name] = int(divisor)
        else:
            raise UsageError(f"build {build.name}: gives argument {name} neither a type nor a value")
    return types, divisible


def _read(compilation: _Compilation, build: Build, arch: str, toolchain: str) -> KernelResources:
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, "kernel.cubin")
        cubin.write_bytes(compilation.cubin)
        (kernel,) = read_binary(cubin, toolchain)
    spills = parse_ptxas_log(compilation.log)
    if kernel.symbol not in spills:
        raise MeasurementError(f"{kernel.name}: Triton did not pass on ptxas's log; spills are not known")
    return replace(
        kernel,
        name=f"{kernel.name} [{build.name}]",
        arch=arch,
        spill_store_bytes=spills[kernel.symbol].store_bytes,
        spill_load_bytes=spills[kernel.symbol].load_bytes,
        dynamic_shared_bytes=compilation.dynamic_shared_bytes,
        threads=compilation.threads,
    )


def _toolchain(capability: int) -> str:
    import triton
    from triton.backends.nvidia.compiler import get_ptxas_version

    found = _VERSION.search(get_ptxas_version(capability))
    return f"triton {triton.__version__}, ptxas {found[1] if found else 'of unknown version'}"
