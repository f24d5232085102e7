"""The shape of a Llama-like model, and which of its matrices have six bits."""

from dataclasses import dataclass

from guardrail.errors import MeasurementError
from guardrail.families.models import ModelProfile

BLOCK_ELEMENTS = 256
"""Weights of one block of either format: every row is a whole number of them."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Everything that fixes a decode step but its weights."""

    layers: int
    hidden: int
    query_heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocabulary: int
    biased: bool = True
    """Whether queries, keys and values have a bias, as Qwen2's do."""
    interleaved: bool = False
    """Whether the rotary embedding turns neighbours, as in GGUF files of Llama, or halves, as in Qwen2."""
    rope_theta: float = 1.0e6
    norm_epsilon: float = 1.0e-6

    @property
    def query_columns(self) -> int:
        """Count the elements of all query heads."""
        return self.query_heads * self.head_size

    @property
    def kv_columns(self) -> int:
        """Count the elements of all keys, and of all values."""
        return self.kv_heads * self.head_size

    @property
    def heads(self) -> int:
        """Count query, key and value heads."""
        return self.query_heads + 2 * self.kv_heads


def geometry_of(model: ModelProfile) -> Geometry:
    """Read the shape of a decode step off a model profile.

    Raises:
        MeasurementError: The profile leaves something out, or a row is no whole number of blocks.
    """
    intermediate = next((tensor.columns for tensor in model.tensors if tensor.name == "ffn_down"), None)
    if model.layers is None or model.hidden_size is None or model.vocabulary is None or intermediate is None:
        raise MeasurementError(
            f"model profile {model.name}: a decode engine needs 'layers', 'hidden_size', 'vocabulary' and a "
            "tensor 'ffn_down'; state them in the profile"
        )
    geometry = Geometry(
        layers=model.layers,
        hidden=model.hidden_size,
        query_heads=model.query_heads,
        kv_heads=model.kv_heads,
        head_size=model.head_size,
        intermediate=intermediate,
        vocabulary=model.vocabulary,
    )
    check_rows(geometry, f"model profile {model.name}")
    return geometry


def check_rows(geometry: Geometry, source: str) -> None:
    """Refuse a model whose rows do not divide into blocks.

    Args:
        geometry: The model.
        source: What the message calls it.

    Raises:
        MeasurementError: A row does not.
    """
    rows = {
        "hidden size": geometry.hidden,
        "columns of ffn_down": geometry.intermediate,
        "columns of attn_output": geometry.query_columns,
    }
    for name, columns in rows.items():
        if columns % BLOCK_ELEMENTS:
            raise MeasurementError(
                f"{source}: {name} {columns} is no multiple of {BLOCK_ELEMENTS}, and q4_K and q6_K rows are "
                "whole blocks; choose a model whose rows are"
            )


def has_six_bits(tensor: str, layer: int, layers: int) -> bool:
    """Tell whether a mixed q4_K_M file keeps a layer's matrix in q6_K.

    llama.cpp's rule (``use_more_bits``): attn_v and ffn_down of the first and last eighth of the layers and
    of every third in between.

    Args:
        tensor: ``attn_q``, ``ffn_down`` and so on.
        layer: From 0.
        layers: Layers of the model.
    """
    if tensor not in ("attn_v", "ffn_down"):
        return False
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2
