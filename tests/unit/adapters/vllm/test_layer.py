from types import SimpleNamespace
from typing import Any

import pytest
import torch

from guardrail.adapters.vllm import compat, planning
from guardrail.adapters.vllm.layer import Int4Layer
from guardrail.families import EngineOptions, ModelProfile
from guardrail.kernels.int4_attention import engine_start, launch, tuning
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache
from helpers.vllm_configs import EAGER, FULL, FULL_AND_PIECEWISE, Mode, config, layer_impl, model

H200 = (132, (9, 0))
SIZES = (1, 2, 4, 8, 16, 24, 32)


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compat, "facts_of", lambda _: H200)


def profile(name: str, geometry: Any) -> ModelProfile:
    return ModelProfile(
        name=name,
        query_heads=geometry.query_heads,
        kv_heads=geometry.get_num_kv_heads(None),
        head_size=geometry.get_head_size(),
        layers=None,
        hidden_size=None,
        vocabulary=None,
    )


@pytest.mark.parametrize(("mode", "sizes"), [(EAGER, ()), (FULL_AND_PIECEWISE, SIZES)])
def test_the_plan_is_the_one_that_kv_plan_prints(mode: Mode, sizes: tuple[int, ...]) -> None:
    target, draft = model(), model(query_heads=32, kv_heads=8, head_size=128)
    processors, capability = H200
    options = EngineOptions(
        max_num_seqs=4, max_num_batched_tokens=2048, processors=processors, capability=capability,
        capture_sizes=sizes,
    )  # fmt: skip
    printed = engine_start.start([profile("target", target), profile("draft", draft)], options)
    configs = (config(target, mode=mode, sizes=sizes), config(target, draft, mode, sizes))
    planned = [
        planning.plan_of(made_under, geometry.query_heads, torch.device("cpu"))
        for made_under, geometry in zip(configs, (target, draft), strict=True)
    ]
    assert [plan.bytes for plan in planned] == [made.bytes for made in printed.allocations]
    assert planned[0].bytes > 2**20


@pytest.mark.parametrize(
    ("mode", "captured", "length"),
    [(FULL, True, 12), (FULL, False, 1), (FULL_AND_PIECEWISE, True, 1), (EAGER, False, 1)],
)
def test_a_graph_that_may_be_replayed_as_a_prefill_is_captured_as_one(
    mode: Mode, captured: bool, length: int
) -> None:
    sizes = () if mode is EAGER else SIZES
    layer = Int4Layer(layer_impl(), config(model(), mode=mode, sizes=sizes), batch_invariant=False)
    metadata = SimpleNamespace(
        block_table=torch.zeros(12, 1, dtype=torch.int32),
        seq_lens=torch.ones(12, dtype=torch.int32),
        query_start_loc=torch.arange(13, dtype=torch.int32),
        max_query_len=1,
    )
    query = torch.zeros(12, 24, 256).half()
    batch = layer._batch(query, cache_views(make_cache(1, 4, 16, 256)), metadata, captured)
    assert batch.max_query_len == length


def test_the_prefill_arm_is_compiled_at_the_first_call_of_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Int4Layer(layer_impl(), config(model()), batch_invariant=False)
    metadata = SimpleNamespace(
        block_table=torch.zeros(1, 1, dtype=torch.int32),
        seq_lens=torch.full([1], 9, dtype=torch.int32),
        query_start_loc=torch.tensor([0, 9], dtype=torch.int32),
        max_query_len=9,
    )
    batch = layer._batch(
        torch.zeros(9, 24, 256).half(), cache_views(make_cache(1, 4, 16, 256)), metadata, False
    )
    ran: list[tuple[int, tuning.Shape]] = []
    monkeypatch.setattr(launch, "run_2d", lambda ran_on, _, shape: ran.append((ran_on.max_query_len, shape)))
    output = torch.zeros(9, 24, 256).half()
    layer._compile_prefill(batch, output)
    layer._compile_prefill(batch, output)
    # Not the shape of the batch: that of prompts as long as the model takes.
    assert ran == [(9, tuning.Shape(64, tile=32, warps=4, stages=5))]
