"""A tiny model with seeded weights and a tokenizer of single bytes, which real engines load."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

HIDDEN, INTERMEDIATE, LAYERS, VOCABULARY = 64, 128, 2, 256
HEADS, KV_HEADS, HEAD_SIZE = 4, 2, 32

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
    "max_position_embeddings": 4096,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": KV_HEADS,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10_000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "vocab_size": VOCABULARY,
}


def make_tiny_model(folder: Path) -> None:
    """Write configuration, weights and tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    save_file(_weights(), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer()))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 4096})
    )


def _weights() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(7)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        drawn: torch.Tensor = torch.randn(rows, columns, generator=generator) / columns**0.5
        return drawn

    tensors = {
        "model.embed_tokens.weight": torch.randn(VOCABULARY, HIDDEN, generator=generator),
        "model.norm.weight": torch.ones(HIDDEN),
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
            tensors[f"{at}.{name}.weight"] = torch.ones(size)
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


def _tokenizer() -> dict[str, object]:
    """State a tokenizer of bytes, in the alphabet that byte-level tokenizers write them in."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "vocab": {letters[byte]: byte for byte in range(256)},
            "merges": [],
            "byte_fallback": False,
        },
    }
