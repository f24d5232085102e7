"""The lines of vLLM 0.11 to 0.33 that tell where memory goes.

Each pattern serves every version whose line has its words; the groups are named after what they read. The
texts are those of 0.11, 0.15, 0.20, 0.26, 0.27 and 0.33, of GPU and CPU workers and of both model runners.
"""

import re

_GIB = r"-?[\d.]+"

WORKER_LINES = (
    re.compile(rf"Model loading took (?P<model_load_bytes>{_GIB}) GiB"),
    re.compile(rf"Available KV cache memory: (?P<available_bytes>{_GIB}) GiB"),
    re.compile(rf"reserved (?P<available_bytes>{_GIB}) ?GiB memory for KV Cache"),
    re.compile(rf"(?:Explicitly|Auto) set \((?P<available_bytes>{_GIB})/{_GIB}\) GiB for KV cache"),
    re.compile(rf"Graph capturing finished in [\d.]+ secs, took (?P<captured_bytes>{_GIB}) GiB"),
    re.compile(rf"Estimated CUDA graph memory: (?P<graph_estimate_bytes>{_GIB}) GiB total"),
    re.compile(
        rf"CUDA graph pool memory: (?P<graph_actual_bytes>{_GIB}) GiB \(actual\), "
        rf"(?P<graph_estimate_bytes>{_GIB}) GiB \(estimated\)"
    ),
    re.compile(
        rf"Desired GPU memory utilization is \([\d.]+, (?P<requested_bytes>{_GIB}) GiB\)\. Actual usage is "
        rf"(?:(?P<consumed_bytes>{_GIB}) GiB for consumed memory[^,]*|{_GIB} GiB for weights?), "
        rf"(?P<peak_bytes>{_GIB}) GiB for peak activation, "
        rf"(?:(?P<outside_bytes>{_GIB}) GiB for non-torch memory, )?"
        rf"and (?P<used_by_graphs_bytes>{_GIB}) GiB for CUDAGraph memory"
    ),
)
"""Sizes in GiB, rounded, of the worker that prints them."""

FITTING = re.compile(r"`--kv-cache-memory=(?P<bytes>-?\d+)` \([^)]*\) to fit into requested memory")
FITTING_MARGIN = 150 * 2**20
"""What vLLM leaves free when it proposes a size: it is that much, and the graphs, below the budget in use."""

EFFECTIVE = re.compile(r"is equivalent to --gpu-memory-utilization=(?P<effective>[\d.]+)")
UNAPPLIED = re.compile(r"CUDA graph memory profiling is disabled")

TOKENS = re.compile(r"\b[A-Z]+(?: \+ host)? KV cache size: (?P<tokens>[\d,]+) tokens")
CONCURRENCY = re.compile(
    r"Maximum concurrency for (?P<request>[\d,]+) tokens per request: (?P<concurrency>[\d.]+)x"
)

READY = re.compile(r"init engine \([^)]*\) took [\d.]+ s")
"""The last line of a start: whatever is allocated for the KV cache and beside it has been."""

OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|(?:CUDA|HIP) out of memory\. Tried|CUDA error: out of memory|out of memory occurred"
)
"""What an engine leaves behind whose budget was too large, as it starts or later."""

FAILED_START = re.compile(
    r"No available memory for the cache blocks|To serve at least one request with the model"
    r"|EngineCore failed to start|Engine core initialization failed|WorkerProc initialization failed"
    r"|WorkerProc failed to start|EngineCore encountered a fatal error|EngineDeadError"
)
"""What an engine leaves behind that never served; after its start it says nothing of the budget."""

KEYWORDS = re.compile(
    r"KV [Cc]ache|Model loading took|[Gg]raph|utilization|scratch|init engine|LLM engine|non-default args"
    r"|max_num_batched_tokens|concurrency|Model Runner|out of memory|OutOfMemory|Engine|WorkerProc"
    r"|memory for the cache|To serve|Unknown vLLM|JIT|AOT"
)
"""Cheap test that every line above passes: all but a few lines of a log are about requests."""
