"""What an engine was started with, as its log tells."""

import re
from collections.abc import Mapping

IDENTITY = ("vllm", "model", "kv_cache_dtype", "max_model_len", "utilization", "compile_cache")
"""Settings in which two starts must agree before their budgets are compared."""
WHERE_STATED = ("compile_cache",)
"""Those of them that a log need not state: a start that compiles has a higher peak than one that loads."""

_VALUE = r"(?:'([^']*)'|([^,}})]+))"

_CONFIG = re.compile(r"Initializing a V\d LLM engine \(v(?P<vllm>[^)]+)\) with config: (?P<config>.*)")
_IN_CONFIG: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"(?:^|[ (]){key}={_VALUE}")
    for name, key in (
        ("model", "model"),
        ("dtype", "dtype"),
        ("max_model_len", "max_seq_len"),
        ("kv_cache_dtype", "kv_cache_dtype"),
        ("quantization", "quantization"),
        ("device", "device_config"),
        ("tensor_parallel_size", "tensor_parallel_size"),
        ("pipeline_parallel_size", "pipeline_parallel_size"),
        ("data_parallel_size", "data_parallel_size"),
        ("enforce_eager", "enforce_eager"),
        ("speculative_tokens", "num_spec_tokens"),
    )
}
_ARGUMENTS = re.compile(r"non-default args: (?P<arguments>\{.*)")
_IN_ARGUMENTS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"'{key}': {_VALUE}")
    for name, key in (
        ("utilization", "gpu_memory_utilization"),
        ("kv_cache_memory_bytes", "kv_cache_memory_bytes"),
        ("max_num_seqs", "max_num_seqs"),
        ("max_num_batched_tokens", "max_num_batched_tokens"),
    )
}
_LINES = (
    re.compile(r"Desired GPU memory utilization is \((?P<utilization>[\d.]+),"),
    re.compile(r"current --gpu-memory-utilization=(?P<utilization>[\d.]+) is equivalent"),
    re.compile(r"enabled with max_num_batched_tokens=(?P<max_num_batched_tokens>\d+)"),
    re.compile(r"Using (?P<runner>V\d) Model Runner"),
)


def read_settings(text: str) -> dict[str, str]:
    """Read the settings that one message states, by name."""
    found: dict[str, str] = {}
    if config := _CONFIG.search(text):
        found["vllm"] = config["vllm"]
        found |= _values(_IN_CONFIG, config["config"])
    if arguments := _ARGUMENTS.search(text):
        found |= _values(_IN_ARGUMENTS, arguments["arguments"])
    for pattern in _LINES:
        if line := pattern.search(text):
            found |= line.groupdict()
    if "utilization" in found:
        found["utilization"] = f"{float(found['utilization']):g}"
    return found


def starts_engine(text: str) -> bool:
    """Tell whether a message announces an engine's start."""
    return _CONFIG.search(text) is not None


def _values(patterns: Mapping[str, re.Pattern[str]], text: str) -> dict[str, str]:
    found = {name: pattern.search(text) for name, pattern in patterns.items()}
    return {name: match[1] or match[2] or "" for name, match in found.items() if match}
