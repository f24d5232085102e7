import pytest

from guardrail.rules.debug_knobs import debug_knobs, may_debug


def found(environment, with_gpu=True):
    return [spoiler.what for spoiler in debug_knobs(environment, with_gpu)]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PATH": "/bin", "TRITON_CACHE_DIR": "/t"},
        {"CUDA_LAUNCH_BLOCKING": "0", "TRITON_DEBUG": "off", "TORCH_LOGS": ""},
        {"TRITON_DEFAULT_FP_FUSION": "1", "VLLM_LOGGING_LEVEL": "INFO", "NCCL_DEBUG": "WARN"},
        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "100", "LD_PRELOAD": "/usr/lib/libjemalloc.so.2"},
    ],
)
def test_what_is_unset_off_or_harmless_does_not_spoil(environment):
    assert found(environment) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CUDA_LAUNCH_BLOCKING", "1"),
        ("TORCH_LOGS", "+inductor"),
        ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"),
        ("TRITON_ALWAYS_COMPILE", "true"),
        ("TRITON_INTERPRET", "1"),
        ("TRITON_DEFAULT_FP_FUSION", "0"),
        ("NVIDIA_TF32_OVERRIDE", "0"),
        ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"),
        ("CUDA_INJECTION64_PATH", "/opt/lib.so"),
        ("VLLM_LOGGING_LEVEL", "DEBUG"),
        ("VLLM_TRACE_FUNCTION", "1"),
        ("VLLM_DISABLE_COMPILE_CACHE", "1"),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL"),
    ],
)
def test_a_knob_in_force_is_named_with_its_value(name, value):
    (sentence,) = found({name: value})
    assert sentence.startswith(f"{name}={value} ")
    assert sentence.endswith(".")
    (spoiler,) = debug_knobs({name: value}, with_gpu=True)
    assert spoiler.remedy == f"unset {name}"


@pytest.mark.parametrize(
    ("name", "spoils"),
    [
        ("TRITON_DEBUG", True),
        ("DISABLE_PTXAS_OPT", True),
        ("TRITON_KERNEL_OVERRIDE", True),
        ("CUDA_LAUNCH_BLOCKING", False),
        ("TRITON_INTERPRET", False),
        ("NSYS_PROFILING_SESSION_ID", False),
    ],
)
def test_without_a_gpu_only_what_changes_compiled_code_spoils(name, spoils):
    assert bool(found({name: "1"}, with_gpu=False)) is spoils


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("NSYS_PROFILING_SESSION_ID", "Nsight Systems"),
        ("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"),
        ("NV_SANITIZER_INJECTION_PORT_BASE", "Compute Sanitizer"),
    ],
)
def test_a_tool_that_watches_is_named(name, tool):
    assert found({name: "x"}) == [
        f"This command runs under {tool}, which slows the kernels of every process that it starts."
    ]


def test_a_library_that_watches_is_named():
    assert found({"LD_PRELOAD": "/usr/lib/libc.so:/opt/nv/libsanitizer-collection.so"}) == [
        "LD_PRELOAD loads /opt/nv/libsanitizer-collection.so into every process, so timings include it."
    ]


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({"VLLM_INT4_MQ_3D_DEBUG": "1", "VLLM_DEBUG_LOG_API_SERVER_RESPONSE": "true"},
         ["VLLM_DEBUG_LOG_API_SERVER_RESPONSE", "VLLM_INT4_MQ_3D_DEBUG"]),
        ({"VLLM_INT4_MQ_3D_DEBUG": "0", "VLLM_DEBUGGER": "1", "MY_DEBUG": "1"}, []),
    ],
)  # fmt: skip
def test_an_engine_s_debug_switch_is_known_by_its_name(environment, names):
    assert [sentence.partition("=")[0] for sentence in found(environment)] == names


def test_every_variable_that_is_looked_at_can_be_recorded():
    assert all(map(may_debug, ("TORCH_LOGS", "LD_PRELOAD", "NSYS_PROFILING_SESSION_ID", "VLLM_X_DEBUG")))
    assert not any(map(may_debug, ("PATH", "VLLM_PORT", "VLLM_DEBUGGER")))
