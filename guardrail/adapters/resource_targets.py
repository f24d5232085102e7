"""What the target of ``guardrail resources`` is, and the kernels in it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from guardrail.adapters.cuobjdump import read_binary, read_header
from guardrail.compiled.architectures import base_arch
from guardrail.compiled.resources import KernelResources
from guardrail.compiled.saved import load_kernels
from guardrail.errors import MeasurementError, NothingReadError, UsageError

_FILE_SUFFIXES = (".cu", ".cubin", ".json", ".so")
_DEFAULT_ARCH = "sm_90"
EXPECTED = (
    "a bundled kernel (family.kernel or module:FAMILY.kernel), a Triton cache folder, a .cu file, a cubin, "
    "an ELF library, or JSON that `guardrail resources --json` wrote"
)


@dataclass(frozen=True, slots=True)
class Launch:
    """What is chosen at launch and is in no binary."""

    threads: int
    dynamic_shared_bytes: int


def read_target(target: str, arch: str | None, launch: Launch | None) -> Iterator[KernelResources]:
    """Read or compile every kernel of a target, each as soon as it is known.

    Args:
        target: A path or the name of a subject.
        arch: Compile for it (``sm_90`` where absent), or read only its kernels from what is already compiled.
        launch: Launch size of kernels that do not come with one.

    Yields:
        Its kernels, in file order.

    Raises:
        UsageError: There is no such target.
        NothingReadError: The target holds no kernel, or none for this architecture.
        MeasurementError: It is damaged or does not compile.
    """
    try:
        yield from _read(target, arch, launch)
    except OSError as error:
        raise UsageError(f"{error.filename or target}: cannot be read: {error.strerror}") from error


def _read(target: str, arch: str | None, launch: Launch | None) -> Iterator[KernelResources]:
    path = Path(target)
    kernels = _read_path(path, arch) if path.exists() else _compile_subject(target, arch or _DEFAULT_ARCH)
    if launch is None:
        yield from kernels
        return
    for kernel in kernels:
        if kernel.threads is not None:
            raise UsageError(
                f"--threads: {kernel.name} comes with its launch size of {kernel.threads} threads a block"
            )
        yield kernel.launched_with(launch.threads, launch.dynamic_shared_bytes)


def _read_path(path: Path, arch: str | None) -> Iterable[KernelResources]:
    if path.is_dir():
        from guardrail.adapters.triton_cache import read_triton_cache

        next(path.iterdir(), None)  # else a folder that cannot be read is taken for an empty one
        return _of_arch(read_triton_cache(path), arch, path)
    if path.suffix == ".cu":
        from guardrail.adapters.cuda_compiler import compile_cuda

        return compile_cuda(path, arch or _DEFAULT_ARCH)
    if read_header(path) is not None:
        return _of_arch(read_binary(path), arch, path)
    if path.suffix in (".cubin", ".so"):
        raise MeasurementError(f"{path}: not an ELF file; it is damaged, or no {path.suffix[1:]} at all")
    if path.suffix == ".json":
        kernels = load_kernels(path.read_bytes(), str(path))
        if not kernels:
            raise NothingReadError(f"{path}: a list of no kernels")
        return _of_arch(kernels, arch, path)
    raise UsageError(f"{path}: not something to read kernels from; expected {EXPECTED}")


def _of_arch(kernels: Iterable[KernelResources], arch: str | None, path: Path) -> Iterator[KernelResources]:
    seen = set()
    for kernel in kernels:
        seen.add(kernel.arch)
        if arch in (None, kernel.arch, base_arch(kernel.arch)):
            yield kernel
    if not seen:
        raise NothingReadError(f"{path}: has device code, and no kernel in it")
    if arch not in (None, *seen, *map(base_arch, seen)):
        raise NothingReadError(f"{path}: no kernel for {arch}; it has {', '.join(sorted(seen))}")


def _compile_subject(target: str, arch: str) -> list[KernelResources]:
    from guardrail import registry
    from guardrail.adapters.triton_compiler import compile_build
    from guardrail.families import Kernel

    if Path(target).suffix in _FILE_SUFFIXES or "/" in target:
        raise UsageError(f"{target}: no such file; expected {EXPECTED}")
    kernel = registry.find_subject(target, registry.families(), (Kernel,))
    assert isinstance(kernel, Kernel)
    builds = [build for build in kernel.builds if not build.archs or arch in build.archs]
    if not builds:
        raise NothingReadError(f"{target}: declares no build for {arch}, so there is nothing to compile")
    return [compile_build(kernel.function, build, arch) for build in builds]
