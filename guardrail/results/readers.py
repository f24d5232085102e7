"""The readers by name."""

import functools
from collections.abc import Callable, Mapping

from guardrail.results import (
    decode,
    google_benchmark,
    llama_bench,
    nvbench,
    pytest_benchmark,
    vllm_bench,
)
from guardrail.results.interface import Output
from guardrail.results.json_path import JsonOutput, path_steps
from guardrail.results.regex import RegexOutput, require_pattern

READERS: Mapping[str, Callable[[str, str], Output]] = {
    "json": JsonOutput,
    "regex": RegexOutput,
    "regex-all": functools.partial(RegexOutput, every=True),
    "decode": decode.read,
    "google-benchmark": google_benchmark.read,
    "llama-bench": llama_bench.read,
    "nvbench": nvbench.read,
    "pytest-benchmark": pytest_benchmark.read,
    "vllm-bench": vllm_bench.read,
}
"""Opens an output: ``(text, source) -> Output``."""


def require_selector(reader: str, selector: str) -> None:
    """Refuse a selector that the reader cannot follow in any output.

    Raises:
        ValueError: It is malformed.
    """
    if reader == "json":
        path_steps(selector)
    elif reader in ("regex", "regex-all"):
        require_pattern(selector)
