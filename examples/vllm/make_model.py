"""Write a small model with seeded random weights, to try an engine on: ``make_model.py FOLDER``.

Four layers of Qwen3's shape with the heads of a large model. Its
logits have the spread of a real model's; those of vLLM's own ``load_format="dummy"`` are nearly zero.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

HIDDEN, INTERMEDIATE, LAYERS, VOCABULARY = 1024, 2048, 4, 32_000
HEADS, KV_HEADS, HEAD_SIZE = 24, 4, 256

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "attention_bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "head_dim": HEAD_SIZE,
    "hidden_act": "silu",
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "max_position_embeddings": 131_072,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": KV_HEADS,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1_000_000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
    "vocab_size": VOCABULARY,
}


def weights(seed: int) -> dict[str, torch.Tensor]:
    """Draw the weights, each row of a matrix of length 1."""
    generator = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        return (torch.randn(rows, columns, generator=generator) / columns**0.5).half()

    tensors = {
        "model.embed_tokens.weight": torch.randn(VOCABULARY, HIDDEN, generator=generator).half(),
        "model.norm.weight": torch.ones(HIDDEN).half(),
        "lm_head.weight": matrix(VOCABULARY, HIDDEN),
    }
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        for name, size in (
            ("input_layernorm", HIDDEN),
            ("post_attention_layernorm", HIDDEN),
            ("self_attn.q_norm", HEAD_SIZE),
            ("self_attn.k_norm", HEAD_SIZE),
        ):
            tensors[f"{at}.{name}.weight"] = torch.ones(size).half()
        for name, rows, columns in (
            ("self_attn.q_proj", HEADS * HEAD_SIZE, HIDDEN),
            ("self_attn.k_proj", KV_HEADS * HEAD_SIZE, HIDDEN),
            ("self_attn.v_proj", KV_HEADS * HEAD_SIZE, HIDDEN),
            ("self_attn.o_proj", HIDDEN, HEADS * HEAD_SIZE),
            ("mlp.gate_proj", INTERMEDIATE, HIDDEN),
            ("mlp.up_proj", INTERMEDIATE, HIDDEN),
            ("mlp.down_proj", HIDDEN, INTERMEDIATE),
        ):
            tensors[f"{at}.{name}.weight"] = matrix(rows, columns)
    return tensors


def make(folder: Path, seed: int = 1234) -> None:
    """Write the configuration and the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights(seed), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    make(parser.parse_args().folder)
