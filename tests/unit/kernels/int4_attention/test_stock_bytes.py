"""Cache bytes and attention side by side with vLLM's own kernels, unmodified, in the interpreter."""

from typing import Any

import pytest
import torch

from guardrail.kernels.int4_attention import launch, rotation
from guardrail.kernels.int4_attention.cache_layout import cache_views
from helpers.stock_writer import differing_bytes, stock_module, stock_write

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="tests/gpu compares more rows")

HEAD_SIZES = pytest.mark.parametrize("head_size", [64, 80, 96, 128, 256])


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stock_module(monkeypatch)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@HEAD_SIZES
def test_bytes_are_those_of_vllm_on_rotated_rows(stock: Any, head_size: int, dtype: torch.dtype) -> None:
    def write(keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor, cache: torch.Tensor) -> None:
        launch.run_write(keys, values, slots, cache_views(cache))

    assert differing_bytes(write, stock_write(stock, rotated=False), 16, head_size, dtype, "cpu") == 0


@HEAD_SIZES
def test_bytes_are_those_of_vllm_on_rows_that_both_rotate(stock: Any, head_size: int) -> None:
    # Without a GPU vLLM rotates by the butterfly, whose sums ours are. bfloat16 would differ: the interpreter
    # cuts what torch rounds.
    def write(keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor, cache: torch.Tensor) -> None:
        launch.run_write(keys, values, slots, cache_views(cache), rotation.signs(head_size))

    assert differing_bytes(write, stock_write(stock, rotated=True), 16, head_size, torch.float16, "cpu") == 0
