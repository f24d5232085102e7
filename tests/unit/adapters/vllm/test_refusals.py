from types import SimpleNamespace
from typing import Any

import pytest
import torch

from guardrail.adapters.vllm import refusals
from helpers.vllm_configs import config, layer_impl, model


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"alibi_slopes": torch.ones(24)}, "stock_alibi"),
        ({"use_alibi_sqrt": True}, "stock_alibi"),
        ({"attn_type": "encoder"}, "stock_attention_type"),
        ({"chunk_lookback": 0}, "stock_chunked_attention"),
        ({"head_size": 48}, "stock_head_geometry"),
        ({"num_heads": 72}, "stock_head_geometry"),
    ],
)
def test_a_layer_that_the_kernels_do_not_compute_is_refused(changes: dict[str, Any], reason: str) -> None:
    assert refusals.of_layer(layer_impl(**changes), config(model()), batch_invariant=False) == (reason,)


@pytest.mark.parametrize(
    "changes", [{}, {"sliding_window": (127, 0)}, {"logits_soft_cap": 30.0}, {"sinks": torch.ones(24)}]
)
def test_a_layer_that_the_kernels_compute_is_served(changes: dict[str, Any]) -> None:
    assert refusals.of_layer(layer_impl(**changes), config(model()), batch_invariant=False) == ()


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("dtype", torch.float32, "stock_float32"),
        ("is_mm_prefix_lm", True, "stock_mm_prefix"),
        ("rswa_window", 512, "stock_reference_window"),
    ],
)
def test_a_model_that_the_kernels_do_not_serve_is_refused(field: str, value: Any, reason: str) -> None:
    served = model()
    setattr(served, field, value)
    assert refusals.of_layer(layer_impl(), config(served), batch_invariant=False) == (reason,)


def test_batch_invariance_microbatches_and_wider_drafters_are_refused() -> None:
    made_under = config(model(head_size=128))
    made_under.speculative_config.target_parallel_config.use_ubatching = True
    assert refusals.of_layer(layer_impl(), made_under, batch_invariant=True) == (
        "stock_batch_invariant",
        "stock_ubatches",
        "stock_head_wider_than_target",
    )


@pytest.mark.parametrize(
    ("causal", "ranges", "quantized", "reasons"),
    [
        (True, None, False, ()),
        (False, None, False, ("stock_non_causal",)),
        (torch.ones(2, dtype=torch.bool), None, False, ("stock_non_causal",)),
        (True, {}, True, ("stock_mm_prefix", "stock_quantized_output")),
    ],
)
def test_a_call_is_refused_by_name(
    causal: Any, ranges: Any, quantized: bool, reasons: tuple[str, ...]
) -> None:
    metadata = SimpleNamespace(causal=causal, mm_prefix_range=ranges)
    assert refusals.of_call(metadata, quantized) == reasons
