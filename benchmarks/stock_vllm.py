"""The int4 attention of a released vLLM, unmodified, on the same bytes as ours."""

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from guardrail.kernels.int4_attention import launch

SEGMENTS = 16
_THRESHOLD = 32
"""Sequences that 3D takes at most with 4 KV heads."""


def load(folder: Path | None) -> Any | None:
    """Import the attention of vLLM.

    Args:
        folder: Where its files lie, if it is not installed.

    Returns:
        ``vllm.v1.attention.ops.int4_per_token_head``; None where there is no vLLM.
    """
    if folder is not None:
        sys.path.append(str(folder))
    if importlib.util.find_spec("vllm") is None:
        return None
    if importlib.util.find_spec("vllm._C_stable_libtorch") is None:
        # Its files without the compiled library, which its CUDA platform insists on. The attention asks its
        # platform for the name of an fp8 type only, and every platform gives the same.
        platforms = importlib.import_module("vllm.platforms")
        platforms._current_platform = platforms.interface.UnspecifiedPlatform()
    return importlib.import_module("vllm.v1.attention.ops.int4_per_token_head")


def version() -> str:
    """Name the release."""
    return importlib.metadata.version("vllm")


def stock_call(stock: Any, batch: launch.Batch, output: torch.Tensor, force_3d: bool) -> Callable[[], None]:
    """Prepare a call of the stock kernels, without the rotation of queries and outputs.

    Args:
        stock: What `load` returned.
        batch: The call.
        output: Shaped as the queries.
        force_3d: Whether to take 3D for several query tokens as well. Only the rule that picks an arm asks
            for ``max_seqlen_q``, so saying 1 is enough.
    """
    cache = batch.cache
    tokens, heads, head_size = batch.queries.shape
    half = head_size // 2 + 4
    token_major = cache.words.view(torch.uint8).transpose(1, 2)
    scratch_shape = (tokens, heads, SEGMENTS)
    arguments = {
        "q": batch.queries,
        "k_cache": token_major[..., :half],
        "v_cache": token_major[..., half:],
        "out": output,
        "cu_seqlens_q": batch.query_starts,
        "max_seqlen_q": 1 if force_3d else batch.max_query_len,
        "seqused_k": batch.seq_lens,
        "softmax_scale": batch.score_scale,
        "window_size": (-1, -1),
        "block_table": batch.block_table,
        "softcap": 0.0,
        "sinks": None,
        "alibi_slopes": None,
        "use_alibi_sqrt": False,
        "qq_bias": None,
        "output_scale": None,
        "mm_prefix_range": None,
        "k_scale_cache": cache.key_scales.transpose(1, 2),
        "v_scale_cache": cache.value_scales.transpose(1, 2),
        "seq_threshold_3D": _THRESHOLD,
        "num_par_softmax_segments": SEGMENTS,
        "softmax_segm_output": batch.queries.new_full(
            (*scratch_shape, head_size), torch.nan, dtype=torch.float
        ),
        "softmax_segm_max": batch.queries.new_full(scratch_shape, torch.nan, dtype=torch.float),
        "softmax_segm_expsum": batch.queries.new_full(scratch_shape, torch.nan, dtype=torch.float),
        "packing_factor": 2,
    }
    return lambda: stock._launch_packed_attn(**arguments)
