"""Environment variables for debugging that spoil what is measured under them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from guardrail.records.spoiler import Spoiler

_ON = re.compile(r"(?!(?:0|false|off|no|n)$).+", re.IGNORECASE)
_OFF = re.compile(r"0|false|off|no|n", re.IGNORECASE)
_ANY = re.compile(r".+")
_DEBUG = re.compile(r"debug|trace|all", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Knob:
    spoils: str
    """What it does to which measurement; the end of a sentence that begins with its name."""
    in_force: re.Pattern[str] = _ON
    without_gpu: bool = False
    """Whether it spoils what is measured without a GPU too: compiled kernels, results."""


_EVERY_LAUNCH_WAITS = "makes every launch wait for its kernel, so timings include the host"
_CHECKS_IN_KERNELS = "compiles checks into every kernel, so registers and timings are not the kernel's own"
_UNOPTIMIZED = "compiles kernels without optimization, so registers, spills and timings are not the real ones"
_LOGS = "writes a log while kernels run, so the host is slow and launches come late"
_COMPILES_AGAIN = (
    "compiles again in every process, so first runs and start-up peaks are those of a cold cache"
)
_OTHER_PRECISION = "overrides the precision of products, so results and timings are not those of the code"
_PROFILED = "attaches a profiler to every process, so timings include it, and a second one finds no place"

_KNOBS: Mapping[str, _Knob] = {
    "CUDA_LAUNCH_BLOCKING": _Knob(_EVERY_LAUNCH_WAITS),
    "CUDA_CACHE_DISABLE": _Knob(_COMPILES_AGAIN),
    "CUDA_FORCE_PTX_JIT": _Knob(
        "makes the driver compile every kernel anew, so it is not the shipped binary"
    ),
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": _Knob("runs kernels in the driver's debug mode, which is slower"),
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": _Knob(
        "leaves kernels a part of the SMs", re.compile(r"(?!100(?:\.0*)?$).+")
    ),
    "CUDA_INJECTION64_PATH": _Knob(_PROFILED, _ANY),
    "NVIDIA_TF32_OVERRIDE": _Knob(_OTHER_PRECISION, _ANY),
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": _Knob(_OTHER_PRECISION),
    "CUBLAS_WORKSPACE_CONFIG": _Knob("fixes cuBLAS's workspace, and with it which product kernels run", _ANY),
    "TRITON_INTERPRET": _Knob("runs Triton kernels on the host, so nothing of the GPU is measured"),
    "TRITON_DEBUG": _Knob(_CHECKS_IN_KERNELS, without_gpu=True),
    "TRITON_ENABLE_ASAN": _Knob(_CHECKS_IN_KERNELS, without_gpu=True),
    "TRITON_INSTRUMENTATION_MODE": _Knob(_CHECKS_IN_KERNELS, _ANY, without_gpu=True),
    "TRITON_KERNEL_OVERRIDE": _Knob(
        "replaces kernels by files of its override folder, so the sources are not what runs", without_gpu=True
    ),
    "TRITON_OVERRIDE_ARCH": _Knob("compiles kernels for another architecture", _ANY, without_gpu=True),
    "TRITON_DEFAULT_FP_FUSION": _Knob("leaves multiply-adds unfused: other code", _OFF, without_gpu=True),
    "TRITON_F32_DEFAULT": _Knob(_OTHER_PRECISION, _ANY, without_gpu=True),
    "TRITON_ALWAYS_COMPILE": _Knob(_COMPILES_AGAIN),
    "TRITON_KERNEL_DUMP": _Knob("writes every stage of every compilation to disk, so first runs are slower"),
    "DISABLE_PTXAS_OPT": _Knob(_UNOPTIMIZED, without_gpu=True),
    "DISABLE_LLVM_OPT": _Knob(_UNOPTIMIZED, without_gpu=True),
    "PTXAS_OPTIONS": _Knob("gives the assembler options of its own: other code", _ANY, without_gpu=True),
    "MLIR_ENABLE_DUMP": _Knob(_LOGS),
    "LLVM_IR_ENABLE_DUMP": _Knob(_LOGS),
    "NVPTX_ENABLE_DUMP": _Knob(_LOGS),
    "TORCH_LOGS": _Knob(_LOGS, _ANY),
    "TORCH_TRACE": _Knob(_LOGS, _ANY),
    "TORCH_COMPILE_DEBUG": _Knob(_LOGS),
    "TORCH_DISTRIBUTED_DEBUG": _Knob("checks every collective, which makes each wait", re.compile("DETAIL")),
    "TORCH_COMPILE_DISABLE": _Knob("turns torch.compile off, so the compiled kernels do not run"),
    "TORCHDYNAMO_DISABLE": _Knob("turns torch.compile off, so the compiled kernels do not run"),
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": _Knob(_COMPILES_AGAIN),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": _Knob(
        "makes every allocation wait for the GPU, so timings and memory peaks are not the real ones"
    ),
    "NCCL_DEBUG": _Knob(_LOGS, re.compile("TRACE|INFO", re.IGNORECASE)),
    "PYTHONDEVMODE": _Knob("checks every allocation of Python's, so the host is slow and launches come late"),
    "VLLM_LOGGING_LEVEL": _Knob(_LOGS, _DEBUG),
    "VLLM_TRACE_FUNCTION": _Knob("logs every Python call, so decoding is many times slower"),
    "VLLM_TORCH_PROFILER_DIR": _Knob("lets torch's profiler run inside the engine: timings include it", _ANY),
    "VLLM_COMPUTE_NANS_IN_LOGITS": _Knob("counts NaN in all logits, which makes every step wait"),
    "VLLM_DISABLE_COMPILE_CACHE": _Knob(_COMPILES_AGAIN),
    "VLLM_BATCH_INVARIANT": _Knob("picks the kernels that do not depend on the batch, and they are slower"),
}

_ENGINE_SWITCH = re.compile(r"VLLM_(?:\w*_)?DEBUG(?:_\w*)?")
_ENGINE_DEBUGS = _Knob(
    "is a debug switch of the engine: it may log within every step, and may give the engine a compile cache "
    "of its own"
)

_EXPORTED_BY = {
    "NSYS_PROFILING_SESSION_ID": "Nsight Systems",
    "NV_COMPUTE_PROFILER_PERFWORKS_DIR": "Nsight Compute",
    "NV_SANITIZER_INJECTION_PORT_BASE": "Compute Sanitizer",
    "NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN": "Compute Sanitizer",
}
"""Variables that tools set in the processes that they watch."""

_PRELOADED = "LD_PRELOAD"

_WATCHED = frozenset({*_KNOBS, *_EXPORTED_BY, _PRELOADED})

_WATCHING_LIBRARY = re.compile(r"[^\s:]*(?:sanitizer|asan|injection|nsight|memcheck)[^\s:]*", re.IGNORECASE)


def may_debug(name: str) -> bool:
    """Tell whether `debug_knobs` looks at a variable."""
    return name in _WATCHED or _ENGINE_SWITCH.fullmatch(name) is not None


def debug_knobs(environment: Mapping[str, str], with_gpu: bool) -> Iterator[Spoiler]:
    """Find the variables in force that spoil measurements.

    Args:
        environment: All environment variables.
        with_gpu: Whether kernels run on a GPU here; else only compiled kernels and results can be spoiled.
    """
    switches = sorted(filter(_ENGINE_SWITCH.fullmatch, environment))
    for name, knob in {**_KNOBS, **dict.fromkeys(switches, _ENGINE_DEBUGS)}.items():
        value = environment.get(name, "")
        if (with_gpu or knob.without_gpu) and knob.in_force.fullmatch(value):
            yield Spoiler(f"{name}={value} {knob.spoils}.", f"unset {name}")
    if with_gpu:
        yield from _watchers(environment)


def _watchers(environment: Mapping[str, str]) -> Iterator[Spoiler]:
    for tool in sorted({tool for name, tool in _EXPORTED_BY.items() if name in environment}):
        yield Spoiler(
            f"This command runs under {tool}, which slows the kernels of every process that it starts.",
            f"Run guardrail without {tool}.",
        )
    if found := _WATCHING_LIBRARY.search(environment.get(_PRELOADED, "")):
        yield Spoiler(
            f"{_PRELOADED} loads {found[0]} into every process, so timings include it.",
            f"unset {_PRELOADED}",
        )
