"""Kernels of the timing probe's own: marks between calls, and reads of memory."""

# Triton compiles these functions, and gives an annotation a meaning of its own.
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# ruff: noqa: N803

import triton
import triton.language as tl

READ_BLOCK = 4096
"""32-bit words that one program reads at a time: eight 16-byte loads in flight for each thread."""


@triton.jit
def guardrail_lead_in(word):
    """Stand at the start of a session, where a profiler is known to drop what it sees."""
    tl.store(word, 0)


@triton.jit
def guardrail_mark(word):
    """Separate one call from the next on the GPU's own timeline."""
    tl.store(word, 1)


@triton.jit
def guardrail_read(words, sink, BLOCK: tl.constexpr):
    """Read memory once and write none: the store never happens, which only the run can know."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(words + offsets), 0)
    tl.store(sink, total, mask=total == 0x5EED)


@triton.jit
def guardrail_read_again(words, sink, rounds, BLOCK: tl.constexpr):
    """Read a block of another program's in every round, past the L1 cache."""
    programs = tl.num_programs(0)
    total = tl.zeros([BLOCK], tl.int32)
    for step in range(rounds):
        # Were it the same block in every round, the load could be moved out of the loop.
        block = (tl.program_id(0) + step * 37) % programs
        offsets = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(words + offsets, cache_modifier=".cg")
    found = tl.sum(total, 0)
    tl.store(sink, found, mask=found == 0x5EED)
