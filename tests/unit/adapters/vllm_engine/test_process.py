import sys

import pytest

from guardrail.adapters.vllm_engine.process import boot_vllm
from guardrail.errors import MeasurementError
from guardrail.spec.engine_files import VllmEngine, load_engine
from helpers.engines import fake_engine


def engine(folder, **settings) -> VllmEngine:
    loaded = load_engine(fake_engine(folder, **settings))
    assert isinstance(loaded, VllmEngine)
    return loaded


def test_a_boot_answers_every_ask_in_order(tmp_path):
    asks = [
        ("decode", {"prompts": [[1, 2, 3], [4, 5]], "new_tokens": 4}),
        ("logits", {"requests": [{"prompt": [3, 4]}]}),
    ]
    booted = boot_vllm(engine(tmp_path), tmp_path, asks)
    first, second = booted.answers[0]
    assert (first["completion_tokens"], len(first["content_times"]), first["text"]) == (4, 4, "0,1,2,3")
    assert second["cached_tokens"] == 0
    assert (booted.answers[1][0]["prompt"], booted.answers[1][0]["logits"]["shape"]) == ([3, 4], [32])
    assert (booted.facts["num_gpu_blocks"], booted.facts["kv_tokens"]) == (256, 4096)
    assert "GPU KV cache size: 4,096 tokens" in booted.log


def test_speculation_gives_several_tokens_a_step(tmp_path):
    ((row,),) = boot_vllm(
        engine(tmp_path, speculation=True), tmp_path, [("decode", {"prompts": [[1]], "new_tokens": 7})]
    ).answers
    assert (row["completion_tokens"], len(row["content_times"])) == (7, 3)


def test_what_the_engine_said_first_is_the_reason(tmp_path):
    with pytest.raises(MeasurementError) as raised:
        boot_vllm(engine(tmp_path, fault="no such model"), tmp_path, [])
    assert str(raised.value) == (
        f"the engine ({sys.executable}) ended with exit code 1; it said first: ValueError: no such model"
    )


def test_an_interpreter_without_vllm_says_so(tmp_path):
    described = engine(tmp_path).model_copy(update={"environment": {}})
    with pytest.raises(MeasurementError, match="it said first: ModuleNotFoundError: No module named 'vllm'"):
        boot_vllm(described, tmp_path, [])


def test_an_interpreter_that_is_not_there_is_named(tmp_path):
    described = engine(tmp_path).model_copy(update={"python": "./venv/bin/python"})
    with pytest.raises(MeasurementError) as raised:
        boot_vllm(described, tmp_path, [])
    assert f"the engine ({tmp_path}/venv/bin/python) cannot be started" in str(raised.value)


def test_a_boot_that_hangs_is_killed(tmp_path):
    described = engine(tmp_path, step_seconds=60).model_copy(update={"timeout_seconds": 1.0})
    with pytest.raises(MeasurementError, match="did not end within 1 s and was killed"):
        boot_vllm(described, tmp_path, [("decode", {"prompts": [[1]], "new_tokens": 4})])
