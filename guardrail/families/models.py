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
    """A model geometry that guards are anchored to; a file in ``profiles/models/``. None is unknown."""

    name: str
    layers: int | None
    hidden_size: int | None
    query_heads: int
    kv_heads: int
    head_size: int
    vocabulary: int | None
    tensors: tuple[Tensor, ...] = ()
    attention_layers: int | None = None
    """Layers with a KV cache that grows with the context; None where all of them have one."""
    scratch_head_size: int | None = None
    """Head size that attention scratch is sized by; None where it is the model's own. An engine may size a
    drafter's scratch by the head size of the model that it drafts for."""
    drafter: str | None = None
    """Profile of the draft model it is served with."""
