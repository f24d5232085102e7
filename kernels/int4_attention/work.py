"""What attention over the cache, and writing it, must move and compute."""

from guardrail.families.interface import Case, Work
from guardrail.kernels.int4_attention.cache_layout import row_bytes
from guardrail.kernels.int4_attention.write_trials import BLOCK_SIZE, units

_HALF_BYTES = 2
_SLOT_BYTES = 8


def attention(case: Case, _arm: str) -> Work:
    """Count the bytes and operations of one attention call.

    Args:
        case: Axes as for `served_trials.ServedAttention`.

    Returns:
        Bytes: every cached row once, queries and outputs in fp16. Partial results are not among them: they
        stay in the L2. Operations: a multiplication and an addition for each element of a key and a value
        that a query head sees, the causal mask not taken off.
    """
    sequences, query_len, context = (int(case[axis]) for axis in ("sequences", "query_len", "context"))
    query_heads, kv_heads, head_size = (int(case[axis]) for axis in ("query_heads", "kv_heads", "head_size"))
    elements = sequences * query_len * query_heads * head_size
    moved = sequences * context * kv_heads * row_bytes(head_size) + 2 * _HALF_BYTES * elements
    return Work(content_bytes=moved, streamed_bytes=moved, operations=4 * elements * context)


def cache_write(case: Case, _arm: str) -> Work:
    """Count the bytes and operations of one cache write.

    Args:
        case: Axes ``blocks``, ``head_size`` and ``kv_heads``.

    Returns:
        Bytes: keys and values in fp16, slots, and the rows written. Operations: the two per element that
        scale and shift it.
    """
    rows, head_size = units(case), int(case["head_size"])
    moved = rows * (2 * _HALF_BYTES * head_size + row_bytes(head_size))
    moved += int(case["blocks"]) * BLOCK_SIZE * _SLOT_BYTES
    return Work(content_bytes=moved, streamed_bytes=moved, operations=2 * 2 * rows * head_size)
