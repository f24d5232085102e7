"""Dumps of Hugging Face models, of a small one where transformers is there."""

import importlib.util
from pathlib import Path

import pytest
import torch

from guardrail.adapters.logits import hf_source
from guardrail.adapters.logits.hf_source import dump_hf_model
from guardrail.errors import MeasurementError, ToolMissingError, UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def test_a_folder_without_a_model_and_a_missing_prompt_are_usage_errors(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"expected the folder of a model, with its config\.json"):
        dump_hf_model(folder / "none", [[1]])
    with pytest.raises(UsageError, match="--hf needs --prompt-ids"):
        dump_hf_model(folder, None)
    with pytest.raises(UsageError, match="equally long"):
        dump_hf_model(folder, [[1], [1, 2]])


def test_a_missing_transformers_is_named_with_its_remedy(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hf_source.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolMissingError, match=r"transformers is not installed.*pip install transformers"):
        dump_hf_model(folder, [[1, 2]])


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not installed")
def test_the_logits_of_a_model_are_those_of_its_last_token(tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = LlamaForCausalLM(config)
    model.save_pretrained(tmp_path / "model")
    found = dump_hf_model(tmp_path / "model", [[1, 2, 3], [4, 5, 6]])
    expected = model(input_ids=torch.tensor([[1, 2, 3], [4, 5, 6]])).logits[:, -1]
    assert torch.allclose(torch.tensor(found.logits), expected, atol=1e-5)
    assert found.identity.prompts == ((1, 2, 3), (4, 5, 6))
    with pytest.raises(MeasurementError, match="a token outside the vocabulary of 97"):
        dump_hf_model(tmp_path / "model", [[97]])
