"""Shapes of the quantized tensors of the bundled models."""

from pathlib import Path

import yaml

_MODELS = Path(__file__).parents[2] / "profiles" / "models"


def shapes(quantization: str) -> list[tuple[int, int]]:
    """List the distinct shapes of the tensors of Qwen2.5-7B and 14B.

    Args:
        quantization: ``q4_k`` or ``q6_k``.

    Returns:
        Rows and columns, sorted.
    """
    found = set()
    for model in ("qwen2.5-7b", "qwen2.5-14b"):
        tensors = yaml.safe_load((_MODELS / f"{model}.yaml").read_text(encoding="utf-8"))["tensors"]
        found |= {
            (tensor["rows"], tensor["columns"])
            for tensor in tensors
            if tensor["quantization"] == quantization
        }
    return sorted(found)
