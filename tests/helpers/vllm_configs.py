"""Stand-ins for what vLLM hands to the plug-in, where the package itself is not needed."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch


@dataclass(frozen=True)
class Mode:
    """A CUDA graph mode, by what decode steps and mixed batches are captured as."""

    decode_full: bool
    mixed_full: bool

    def has_full_cudagraphs(self) -> bool:
        """Tell whether attention is captured at all."""
        return self.decode_full or self.mixed_full

    def mixed_mode(self) -> "Mode":
        """Give the mode of mixed batches."""
        return Mode(self.mixed_full, self.mixed_full)


EAGER = Mode(decode_full=False, mixed_full=False)
FULL = Mode(decode_full=True, mixed_full=True)
FULL_AND_PIECEWISE = Mode(decode_full=True, mixed_full=False)


def model(query_heads: int = 24, kv_heads: int = 4, head_size: int = 256) -> Any:
    """Stand in for a ModelConfig."""
    return SimpleNamespace(
        dtype=torch.float16,
        is_mm_prefix_lm=False,
        rswa_window=None,
        max_model_len=4096,
        query_heads=query_heads,
        get_num_kv_heads=lambda _: kv_heads,
        get_head_size=lambda: head_size,
    )


def config(served: Any, drafts: Any = None, mode: Mode = EAGER, sizes: tuple[int, ...] = ()) -> Any:
    """Stand in for the VllmConfig of a served model, or of one that drafts for it."""
    parallel = SimpleNamespace(use_ubatching=False, data_parallel_rank=0, world_size=1, rank=0)
    return SimpleNamespace(
        instance_id="engine",
        model_config=drafts or served,
        parallel_config=parallel,
        speculative_config=SimpleNamespace(
            num_speculative_tokens=7, target_model_config=served, target_parallel_config=parallel
        ),
        scheduler_config=SimpleNamespace(max_num_seqs=4, max_num_batched_tokens=2048),
        compilation_config=SimpleNamespace(
            cudagraph_mode=mode,
            cudagraph_capture_sizes=list(sizes),
            max_cudagraph_capture_size=max(sizes, default=0),
        ),
        use_v2_model_runner=True,
    )


def layer_impl(**changes: Any) -> Any:
    """Stand in for a TritonAttentionImpl."""
    options = {
        "num_heads": 24,
        "num_kv_heads": 4,
        "head_size": 256,
        "scale": 0.0625,
        "alibi_slopes": None,
        "use_alibi_sqrt": False,
        "attn_type": "decoder",
        "chunk_lookback": -1,
        "sliding_window": (-1, -1),
        "logits_soft_cap": 0,
        "sinks": None,
        **changes,
    }
    return SimpleNamespace(**options)
