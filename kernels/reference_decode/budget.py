"""What is left for the KV cache once weights and scratch have their memory."""

from guardrail.families.decode import KvBudget
from guardrail.kernels.int4_attention.cache_layout import row_bytes
from guardrail.kernels.reference_decode.geometry import Geometry

BLOCK_SIZE = 16
"""Tokens of one block of the cache."""


def token_bytes(geometry: Geometry) -> int:
    """Size one token's keys and values over all layers."""
    return geometry.layers * geometry.kv_heads * row_bytes(geometry.head_size)


def fix_budget(available_bytes: int, bytes_per_token: int, scratch_bytes: int) -> KvBudget:
    """Divide what is left into blocks of tokens.

    Args:
        available_bytes: What weights, and all scratch that is allocated by now, leave.
        bytes_per_token: As `token_bytes` says.
        scratch_bytes: Scratch that is allocated by now.
    """
    available = max(0, available_bytes)
    return KvBudget(
        available_bytes=available,
        bytes_per_token=bytes_per_token,
        tokens=available // (bytes_per_token * BLOCK_SIZE) * BLOCK_SIZE,
        scratch_bytes=scratch_bytes,
        scratch_bytes_after_profile=0,
    )
