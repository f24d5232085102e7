"""A decode engine that runs, as probes see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

MATVEC_THRESHOLD = 4_000_000
"""Elements of the smallest matrix that the matrix-vector product serves, where an engine states none."""


class Mode(StrEnum):
    """How a step is launched."""

    EAGER = "eager"
    CAPTURED = "captured"
    """Replayed from one CUDA graph."""


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """What a decode engine is started with."""

    sequences: int = 1
    context: int = 256
    """Tokens that a sequence holds at most."""
    seed: int = 0
    """Seed of random weights."""
    weights: str | None = None
    """GGUF file; random weights where None."""
    matvec_threshold: int = MATVEC_THRESHOLD
    """Elements of the smallest matrix that the matrix-vector product serves."""
    block_units: int | None = None
    """Units in a tile of the matrix-vector arms; what they are shipped with where None."""
    planes: bool = True
    """Whether six-bit matrices are laid out in dense planes."""
    memory_bytes: int | None = None
    """What weights, scratch and KV cache share; what the device has free where None."""


@dataclass(frozen=True, slots=True)
class KvBudget:
    """What is left for the KV cache, and what it does not know of."""

    available_bytes: int
    bytes_per_token: int
    tokens: int
    """Tokens that fit, in whole blocks."""
    scratch_bytes: int
    """Attention scratch, whenever it was allocated."""
    scratch_bytes_after_profile: int
    """Those of it that were allocated after the budget was fixed."""


@dataclass(frozen=True, slots=True)
class ServedTensor:
    """Which arm served one matrix, and how often the host launched it."""

    tensor: str
    arm: str
    because: str
    """Why a slower arm was taken; empty where none was."""
    accidental: bool
    """Whether nobody chose the slower arm."""
    calls: int


@dataclass(frozen=True, slots=True)
class FirstStep:
    """The outcome of the step that ends a prompt."""

    prompts: tuple[tuple[int, ...], ...]
    """Token ids of each sequence, equally many."""
    mode: Mode
    logits: Any
    """fp32 [sequences, vocabulary], on the CPU."""
    tensors: Mapping[str, Any] = field(default_factory=dict)
    """Further tensors by name, on the CPU: ``blk.N.kv``, the cached bytes of layer N, uint8 [sequences,
    tokens, KV heads, row bytes]."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one greedy run gave."""

    tokens: tuple[tuple[int, ...], ...]
    """New token ids of each sequence."""
    seconds: tuple[float, ...]
    """Time of each step after the prompts, in order: one less than new tokens."""


class RunningEngine(Protocol):
    """An engine that has loaded its model."""

    modes: Sequence[Mode]
    """How it can launch a step on this machine."""
    budget: KvBudget
    weight_bytes_per_step: int
    """Bytes of quantized weights that one step must read."""

    def first_step_logits(self, prompts: Sequence[Sequence[int]], mode: Mode) -> FirstStep:
        """Start anew, run the prompts and give the logits of their last tokens.

        Args:
            prompts: Token ids of each sequence, equally many.
            mode: How steps are launched.
        """

    def decode(
        self, prompts: Sequence[Sequence[int]], new_tokens: int, mode: Mode, context: int = 0
    ) -> Decoded:
        """Start anew, run the prompts, and go on greedily.

        Args:
            prompts: Token ids of each sequence, equally many.
            new_tokens: Tokens of each sequence, 2 or more; the prompt's last step gives the first, untimed.
            mode: How steps are launched.
            context: Random keys and values that each sequence holds before its prompt.
        """

    def arms(self) -> Sequence[ServedTensor]:
        """List which arm served each matrix since the start; a captured graph is counted once."""
