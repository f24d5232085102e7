"""Cache bytes side by side with vLLM's own writer on the GPU."""

import pytest
import torch

from guardrail.kernels.int4_attention import launch, reference
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache
from helpers.stock_writer import differing_bytes, stock_module, stock_write

pytestmark = pytest.mark.gpu

ROWS = 4096


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("head_size", [64, 80, 96, 128, 256])
def test_bytes_are_those_of_vllm(monkeypatch: pytest.MonkeyPatch, head_size: int, dtype: torch.dtype) -> None:
    stock = stock_module(monkeypatch)

    def write(keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor, cache: torch.Tensor) -> None:
        launch.run_write(keys, values, slots, cache_views(cache))

    assert differing_bytes(write, stock_write(stock, rotated=False), ROWS, head_size, dtype, "cuda") == 0


@pytest.mark.parametrize("head_size", [64, 80, 96, 128, 256])
def test_rows_that_span_zero_come_back_within_half_a_step(head_size: int) -> None:
    generator = torch.Generator(device="cuda").manual_seed(head_size)
    keys, values = torch.randn(2, ROWS, 2, head_size, generator=generator, device="cuda")
    views = cache_views(make_cache(ROWS // 16, 2, 16, head_size, "cuda"))
    launch.run_write(keys, values, torch.arange(ROWS, device="cuda"), views)
    for rows, packed, scales in (
        (keys, views.key_bytes, views.key_scales),
        (values, views.value_bytes, views.value_scales),
    ):
        back = reference.dequantize(packed, scales).transpose(1, 2).reshape(rows.shape)
        span = rows.double().amax(-1, keepdim=True) - rows.double().amin(-1, keepdim=True)
        steps = (back - rows).abs() / (span / 15)
        assert 0.49 < float(steps.max()) <= 0.5001
