"""A model's geometry, as kernel families see it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tensor:
    """One weight matrix of a model, multiplied as ``output = weight @ input``."""

    name: str
    rows: int
    """Output features."""
    columns: int
    """Input features."""
    quantization: str
    """Lower-case format name: ``q6_k``, ``q4_k``, ``f16``, ``int4``."""
    layers: int = 1
    """How many layers hold a tensor of this shape and quantization."""


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """A model geometry that guards are anchored to; a file in ``profiles/models/``."""

    name: str
    layers: int
    hidden_size: int
    query_heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    tensors: tuple[Tensor, ...] = ()
    drafter: str | None = None
    """Profile of the draft model it is served with."""
