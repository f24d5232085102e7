"""Dumps of Hugging Face models, of a small one where transformers is there."""

import importlib.util
from pathlib import Path

import pytest
import torch

from guardrail.adapters.logits import hf_source
from guardrail.adapters.logits.hf_source import dump_hf_model
from guardrail.errors import ToolMissingError, UsageError


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


def test_a_token_that_the_model_does_not_know_is_a_usage_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        hf_source.importlib.util, "find_spec", lambda name: name == "transformers" or found(name)
    )
    monkeypatch.setattr(hf_source, "run_in_worker", lambda *arguments: {"vocabulary": 97})
    with pytest.raises(UsageError, match=r"--prompt-ids: token 97 is outside .*'s vocabulary of 97"):
        dump_hf_model(folder, [[3, 97]])


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
    with pytest.raises(UsageError, match=r"token 97 is outside .*'s vocabulary of 97"):
        dump_hf_model(tmp_path / "model", [[97]])
