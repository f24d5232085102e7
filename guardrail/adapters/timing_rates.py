"""What this card can do, measured in the same window as the subject."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from guardrail.adapters.timing_kernels import READ_BLOCK, guardrail_read, guardrail_read_again

DRAM_READ, L2_READ, MATRIX = "dram_read", "l2_read", "matrix"

_WORD_BYTES = 4
_DRAM_BYTES = 2**30
_FLUSHED_L2S = 2.5
"""Reads of more than twice the L2 leave nothing of what was there before."""
_L2_PROGRAMS_PER_PROCESSOR = 8
_L2_ROUNDS = 32
_MATRIX_ROWS = 8192


@dataclass(frozen=True, slots=True)
class RateProbe:
    """One call whose amount of work is known."""

    name: str
    run: Callable[[], object]
    amount: int
    """Bytes read, or operations computed."""
    warm: bool = False
    """Whether it must have run just before."""


class Reader:
    """Reads a buffer from beginning to end, and writes nothing.

    Args:
        size: Bytes; rounded up to whole blocks.
    """

    def __init__(self, size: int) -> None:
        self._blocks = -(-size // (READ_BLOCK * _WORD_BYTES))
        self._words = _random_words(self._blocks)
        self._sink = torch.zeros(1, dtype=torch.int32, device="cuda")
        self.bytes = self._blocks * READ_BLOCK * _WORD_BYTES

    def __call__(self) -> None:
        """Read it."""
        guardrail_read[(self._blocks,)](self._words, self._sink, BLOCK=READ_BLOCK)


def flush() -> Reader:
    """Make a reader that throws everything else out of the L2, with no line left to be written back."""
    return Reader(int(torch.cuda.get_device_properties(0).L2_cache_size * _FLUSHED_L2S))


def rate_probe(name: str) -> RateProbe:
    """Make the probe of one rate.

    Args:
        name: ``dram_read``, ``l2_read`` (bytes a second) or ``matrix`` (16-bit operations a second).

    Raises:
        ValueError: There is no such rate.
    """
    if name == DRAM_READ:
        reader = Reader(_DRAM_BYTES)
        return RateProbe(name, reader, reader.bytes)
    if name == L2_READ:
        return _l2_probe()
    if name == MATRIX:
        return _matrix_probe()
    raise ValueError(f"no rate is named {name!r}: expected {DRAM_READ}, {L2_READ} or {MATRIX}")


def _l2_probe() -> RateProbe:
    programs = torch.cuda.get_device_properties(0).multi_processor_count * _L2_PROGRAMS_PER_PROCESSOR
    words, sink = _random_words(programs), torch.zeros(1, dtype=torch.int32, device="cuda")

    def read() -> None:
        guardrail_read_again[(programs,)](words, sink, _L2_ROUNDS, BLOCK=READ_BLOCK)

    return RateProbe(L2_READ, read, programs * READ_BLOCK * _WORD_BYTES * _L2_ROUNDS, warm=True)


def _matrix_probe() -> RateProbe:
    one, other, product = (
        torch.randn(_MATRIX_ROWS, _MATRIX_ROWS, dtype=torch.bfloat16, device="cuda") for _ in range(3)
    )
    return RateProbe(MATRIX, lambda: torch.matmul(one, other, out=product), 2 * _MATRIX_ROWS**3)


def _random_words(blocks: int) -> torch.Tensor:
    return torch.randint(-(2**31), 2**31 - 1, (blocks * READ_BLOCK,), dtype=torch.int32, device="cuda")
