"""A Llama-shaped model in float64, from dequantized weights; it shares nothing with the engine's kernels."""

from collections.abc import Callable

import gguf
import torch

from guardrail.kernels.reference_decode.weights import RawMatrix, Weights

_TYPES = {"q4_k": gguf.GGMLQuantizationType.Q4_K, "q6_k": gguf.GGMLQuantizationType.Q6_K}


def dequantized(raw: RawMatrix) -> torch.Tensor:
    """Dequantize a matrix with the package ``gguf``, float64 [rows, columns]."""
    return torch.from_numpy(gguf.dequantize(raw.blocks.flatten(1).numpy(), _TYPES[raw.quantization])).double()


def logits(
    weights: Weights, prompt: list[int], cached: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Compute the logits behind a prompt; activations are not quantized.

    Args:
        weights: The model.
        prompt: Token ids.
        cached: What the cache makes of keys and values, [heads, tokens, head size].

    Returns:
        float64 [vocabulary].
    """
    shape = weights.geometry
    x = weights.embedding()[torch.tensor(prompt)].double()
    for layer in range(shape.layers):
        prefix = f"blk.{layer}"
        normed = _norm(x, weights.norm(f"{prefix}.attn_norm"), shape.norm_epsilon)
        query, key, value = (
            (normed @ dequantized(weights.matrix(f"{prefix}.{name}")).T + weights.bias(f"{prefix}.{name}"))
            .view(len(prompt), -1, shape.head_size)
            .transpose(0, 1)
            for name in ("attn_q", "attn_k", "attn_v")
        )
        group = shape.query_heads // shape.kv_heads
        attended = torch.nn.functional.scaled_dot_product_attention(
            _turned(query, shape.rope_theta),
            cached(_turned(key, shape.rope_theta)).repeat_interleave(group, 0),
            cached(value).repeat_interleave(group, 0),
            is_causal=True,
        )
        x = x + attended.transpose(0, 1).flatten(1) @ dequantized(weights.matrix(f"{prefix}.attn_output")).T
        normed = _norm(x, weights.norm(f"{prefix}.ffn_norm"), shape.norm_epsilon)
        gate, up = (
            normed @ dequantized(weights.matrix(f"{prefix}.{name}")).T for name in ("ffn_gate", "ffn_up")
        )
        x = x + (torch.nn.functional.silu(gate) * up) @ dequantized(weights.matrix(f"{prefix}.ffn_down")).T
    normed = _norm(x[-1], weights.norm("output_norm"), shape.norm_epsilon)
    return normed @ dequantized(weights.matrix("output")).T


def _norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight


def _turned(heads: torch.Tensor, theta: float) -> torch.Tensor:
    """Turn the halves of [heads, tokens, head size] by their position."""
    half = heads.shape[-1] // 2
    frequency = theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(heads.shape[1], dtype=torch.float64)[:, None] * frequency
    first, second = heads[..., :half], heads[..., half:]
    return torch.cat(
        [first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], dim=-1
    )
