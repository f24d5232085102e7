import pytest

from guardrail.kvlog.remarks import Remarks

COMPILING = "Compiling a graph for compile range (1, 8192) takes 14.19 s"
LOADING = "Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 0.3 s"
LOADING_ALL = "Directly load AOT compilation from path /cache/torch_aot_compile"
LATE = (
    "TileLang JIT compilation during inference: moe.mhc_pre (constexprs={BLOCK=64}). This causes a latency "
    "spike; consider extending warmup to cover this shape/config."
)


def heard(*lines):
    remarks = Remarks()
    for line in lines:
        remarks.hear(line)
    return remarks


@pytest.mark.parametrize(
    ("lines", "settings"),
    [
        ((), {}),
        ((COMPILING,), {"compile_cache": "compiled"}),
        ((LOADING,), {"compile_cache": "loaded"}),
        ((LOADING_ALL,), {"compile_cache": "loaded"}),
        ((LOADING, COMPILING), {"compile_cache": "loaded in part"}),
    ],
)
def test_where_compiled_graphs_are_from_is_told(lines, settings):
    assert heard(*lines).settings() == settings


def test_each_kernel_counts_once_and_without_its_details():
    found = heard("Kernel JIT monitor activated; monitored", LATE, LATE)
    assert found.counts({}) == {"late_compilations": ("moe.mhc_pre",)}


@pytest.mark.parametrize(
    ("version", "counts"),
    [
        ("0.27.1", {"unknown_variables": ("VLLM_X",)}),
        ("1.0.0", {"unknown_variables": ("VLLM_X",)}),
        ("0.26.0", {}),
        ("dev", {}),
    ],
)
def test_variables_are_counted_where_the_engine_reports_them(version, counts):
    found = heard("Unknown vLLM environment variable detected: VLLM_X")
    assert found.counts({"vllm": version}) == counts
