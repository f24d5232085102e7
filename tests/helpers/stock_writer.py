"""vLLM's own writer of int4 caches, for comparison with ours."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import stock_vllm
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache

_CHECKOUT = Path(__file__).parents[2]
BLOCK_SIZE = 16
KV_HEADS = 2

Write = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], None]
"""(keys, values, slots, cache) -> None."""


def stock_module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import vLLM's int4 attention, or skip the test and say what is missing."""
    if not torch.cuda.is_available():
        # vLLM leaves Triton out on a machine without a GPU, unless it is told that none is wanted.
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    folder = _CHECKOUT / ".stock"
    try:
        module = stock_vllm.load(folder if folder.exists() else None)
    except ModuleNotFoundError as missing:
        pytest.skip(f"vLLM does not import here: {missing}")
    if module is None:
        pytest.skip(f"vLLM is not installed, and its files do not lie in {folder.name}/")
    return module


def stock_write(module: Any, rotated: bool) -> Write:
    """Write with vLLM's kernel, rotated by it or as the rows are."""

    def write(keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor, cache: torch.Tensor) -> None:
        views = cache_views(cache)
        half = cache.shape[3] // 2
        token_major = cache.transpose(1, 2)
        arguments = {
            "key": keys,
            "value": values,
            "key_cache": token_major[..., :half],
            "value_cache": token_major[..., half:],
            "k_scale_cache": views.key_scales.transpose(1, 2),
            "v_scale_cache": views.value_scales.transpose(1, 2),
            "slot_mapping": slots,
        }
        if rotated:
            module.reshape_and_cache_int4(**arguments)
        else:
            module._run_reshape_kernel(module._reshape_cache_int4_kernel, packing_factor=2, **arguments)

    return write


def mixed_rows(tokens: int, head_size: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Draw normal rows; of every eight, some do not span zero, one is constant and two are tiny."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(tokens, KV_HEADS, head_size, generator=generator)
    kind = torch.arange(tokens) % 8
    rows[kind == 1] += 6
    rows[kind == 2] -= 100
    rows[kind == 3] = rows[kind == 3][..., :1]
    rows[kind == 4] *= 3e-7
    rows[kind == 5] *= 1e-5
    return rows.to(dtype)


def differing_bytes(
    ours: Write, theirs: Write, tokens: int, head_size: int, dtype: torch.dtype, device: str
) -> int:
    """Write the same rows into a head-major and shuffled cache with both, and count bytes that differ."""
    keys, values = (mixed_rows(tokens, head_size, dtype, seed).to(device) for seed in (1, 2))
    slots = torch.randperm(tokens, generator=torch.Generator().manual_seed(3))
    slots[0] = -1
    written = []
    for write in (ours, theirs):
        cache = make_cache(-(-tokens // BLOCK_SIZE), KV_HEADS, BLOCK_SIZE, head_size, device).fill_(0xA5)
        write(keys, values, slots.to(device), cache)
        written.append(cache)
    assert int((written[0] != 0xA5).sum()) > tokens * head_size
    return int((written[0] != written[1]).sum())
