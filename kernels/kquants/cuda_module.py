"""CUDA C++ kernels of this package: compiled for the device once a process, launched on torch's stream."""

import ctypes
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from guardrail.errors import MeasurementError, ToolMissingError
from guardrail.families.announcements import announce
from guardrail.kernels.kquants import knob

_REMEDY = "Run: pip install cuda-core cuda-bindings nvidia-cuda-nvrtc"
_PROGRAMMATIC_LAUNCH = (9, 0)
"""Compute capability from which a kernel may be started before the one ahead of it has ended."""

Macros = tuple[tuple[str, int], ...]
Argument = torch.Tensor | int | float


@functools.cache
def available() -> bool:
    """Say whether CUDA C++ kernels can be compiled and run here; the Triton arms serve where not."""
    if not torch.cuda.is_available() or torch.version.cuda is None:
        return False
    try:
        compiler()
    except ToolMissingError:
        return False
    return True


def serves(tensor: torch.Tensor) -> bool:
    """Say whether CUDA C++ kernels compute with a tensor, where there is one for the work.

    Args:
        tensor: On any device.
    """
    return tensor.is_cuda and _allowed() and available()


@functools.cache
def _allowed() -> bool:
    return knob.cuda_allowed(os.environ)


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel that is loaded on the current device."""

    name: str
    handle: Any
    threads: int
    programmatic: bool

    def launch(self, grid: int, shared_bytes: int, *arguments: Argument) -> None:
        """Start the kernel on torch's current stream; it can be captured in a CUDA graph.

        Args:
            grid: Blocks.
            shared_bytes: Dynamic shared memory of a block.
            *arguments: Tensors, passed as pointers, and 32-bit integers and floats, in the order of the C++
                parameters.

        Raises:
            MeasurementError: The driver refuses the launch.
        """
        from cuda.bindings import driver

        announce(self.name)
        config = _launch_config(grid, self.threads, shared_bytes, self.programmatic)
        config.hStream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
        values, types = zip(*(_parameter(argument) for argument in arguments), strict=True)
        _check(
            driver.cuLaunchKernelEx(config, self.handle, (values, types), 0)[0],
            f"launch {self.name} with {shared_bytes} bytes of shared memory",
        )

    def resources(self) -> tuple[int, int]:
        """Read how many registers and how many bytes of local memory a thread has."""
        from cuda.bindings import driver

        names = driver.CUfunction_attribute
        device = driver.CUdevice(torch.cuda.current_device())
        values = []
        for attribute in (names.CU_FUNC_ATTRIBUTE_NUM_REGS, names.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES):
            result, value = driver.cuKernelGetAttribute(attribute, self.handle, device)
            _check(result, f"read the resources of {self.name}")
            values.append(int(value))
        registers, local_bytes = values
        return registers, local_bytes


def compile_cubin(source: Path, macros: Mapping[str, int], arch: str) -> bytes:
    """Compile a ``.cu`` file with NVRTC.

    Args:
        source: The file.
        macros: What it is compiled with.
        arch: ``sm_90``.

    Raises:
        ToolMissingError: NVRTC is not installed.
        MeasurementError: The file does not compile; the message is the compiler's.
    """
    core, compile_error = compiler()
    options = core.ProgramOptions(
        name=str(source),
        arch=arch,
        include_path=[str(source.parent)],
        define_macro=[(name, str(value)) for name, value in macros.items()],
        no_cache=True,
    )
    try:
        return bytes(core.Program(source.read_text(), "c++", options).compile("cubin").code)
    except compile_error as error:
        raise MeasurementError(f"{source} does not compile for {arch}:\n{str(error).strip()}") from None


def load(source: Path, name: str, macros: Macros) -> CudaKernel:
    """Compile and load one kernel for the current device, once a process.

    Args:
        source: The ``.cu`` file.
        name: Name of the kernel in it.
        macros: What it is compiled with; ``THREADS`` are its threads a block.

    Raises:
        ToolMissingError: cuda.core, cuda.bindings or NVRTC is not installed.
        MeasurementError: The source does not compile, or the driver refuses it.
    """
    return _load(source, name, macros, torch.cuda.current_device())


@functools.cache
def _load(source: Path, name: str, macros: Macros, device: int) -> CudaKernel:
    capability = torch.cuda.get_device_capability(device)
    handle = _library(source, macros, "sm_{}{}".format(*capability)).get_kernel(name).handle
    _allow_all_shared_bytes(handle, name, device)
    return CudaKernel(name, handle, dict(macros)["THREADS"], capability >= _PROGRAMMATIC_LAUNCH)


@functools.cache
def _library(source: Path, macros: Macros, arch: str) -> Any:
    core, _ = compiler()
    return core.ObjectCode.from_cubin(compile_cubin(source, dict(macros), arch), name=str(source))


@functools.cache
def compiler() -> tuple[Any, tuple[type[Exception], ...]]:
    """Import cuda.core, with what its compiler raises, and see to it that NVRTC itself is there.

    Raises:
        ToolMissingError: One of them is not installed.
    """
    try:
        import cuda.core as core
        from cuda.bindings import nvrtc
        from cuda.core._utils.cuda_utils import CUDAError

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        raise ToolMissingError(
            f"cuda.core with NVRTC ({error})", "compile the CUDA C++ kernels", _REMEDY
        ) from None
    return core, (CUDAError, RuntimeError)


def _parameter(argument: Argument) -> tuple[float, type[Any]]:
    """Give a value with the type of the C++ parameter that takes it."""
    if isinstance(argument, torch.Tensor):
        return argument.data_ptr(), ctypes.c_void_p
    return argument, ctypes.c_int if isinstance(argument, int) else ctypes.c_float


@functools.cache
def _launch_config(grid: int, threads: int, shared_bytes: int, programmatic: bool) -> Any:
    from cuda.bindings import driver

    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = threads, 1, 1
    config.sharedMemBytes = shared_bytes
    if programmatic:
        value = driver.CUlaunchAttributeValue()
        value.programmaticStreamSerializationAllowed = 1
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attribute.value = value
        config.attrs, config.numAttrs = [attribute], 1
    return config


def _allow_all_shared_bytes(handle: Any, name: str, device: int) -> None:
    """Let a kernel be launched with as much shared memory as the device has; unasked, it gets 48 KiB."""
    from cuda.bindings import driver

    most = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    result, shared_bytes = driver.cuDeviceGetAttribute(most, driver.CUdevice(device))
    _check(result, "tell the device's shared memory")
    fixed = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
    result, fixed_bytes = driver.cuKernelGetAttribute(fixed, handle, driver.CUdevice(device))
    _check(result, f"tell the shared memory of {name}")
    shared_bytes -= fixed_bytes
    dynamic = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    result = driver.cuKernelSetAttribute(dynamic, shared_bytes, handle, driver.CUdevice(device))[0]
    _check(result, f"give {name} {shared_bytes} bytes of shared memory")


def _check(result: Any, purpose: str) -> None:
    from cuda.bindings import driver

    if result != driver.CUresult.CUDA_SUCCESS:
        raise MeasurementError(f"the CUDA driver cannot {purpose}: {result.name}")
