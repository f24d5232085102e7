"""The bytes of an int4 key-value cache, and the views that the kernels take of them."""

from dataclasses import dataclass

import torch

SCALE_BYTES = 4


@dataclass(frozen=True, slots=True)
class CacheViews:
    """Four views of one cache tensor, none of them a copy."""

    key_bytes: torch.Tensor
    """Packed keys, uint8 [blocks, KV heads, block size, head size / 2]."""
    key_scales: torch.Tensor
    """Key scales, fp32 [blocks, KV heads, block size]; the zero point in the low 4 bits."""
    value_bytes: torch.Tensor
    """Packed values, shaped and strided as the keys."""
    value_scales: torch.Tensor
    """Value scales, shaped and strided as the key scales."""

    @property
    def head_size(self) -> int:
        """Count the elements of one key."""
        return 2 * self.key_bytes.shape[3]

    @property
    def block_size(self) -> int:
        """Count the slots of one block."""
        return self.key_bytes.shape[2]


def row_bytes(head_size: int) -> int:
    """Size one token's key, value and scales of one head.

    Args:
        head_size: Elements of a key, a multiple of 8.

    Returns:
        Bytes: 264 for a head size of 256.

    Raises:
        ValueError: The scales would not be aligned to 4 bytes.
    """
    if head_size <= 0 or head_size % 8:
        raise ValueError(f"head size {head_size}: expected a positive multiple of 8, for aligned scales")
    return 2 * (head_size // 2 + SCALE_BYTES)


def make_cache(
    blocks: int, kv_heads: int, block_size: int, head_size: int, device: str | torch.device = "cpu"
) -> torch.Tensor:
    """Make a cache of zero bytes.

    Returns:
        uint8 [blocks, kv_heads, block_size, 2 * (head_size / 2 + 4)].
    """
    shape = (blocks, kv_heads, block_size, row_bytes(head_size))
    return torch.zeros(shape, dtype=torch.uint8, device=device)


def cache_views(cache: torch.Tensor) -> CacheViews:
    """Split a cache into keys, values and their scales: ``[K | K scale | V | V scale]`` in every row.

    Args:
        cache: uint8 [blocks, KV heads, block size, row bytes], of any strides but contiguous rows.

    Raises:
        ValueError: The tensor is no such cache, or its strides do not allow 4-byte views.
    """
    if cache.dtype != torch.uint8 or cache.dim() != 4 or cache.shape[3] % 8:
        raise ValueError(
            f"a cache of {cache.dtype} {tuple(cache.shape)}: expected uint8 [blocks, KV heads, block size, "
            "2 * (head size / 2 + 4)]"
        )
    if cache.stride(3) != 1 or any(stride % SCALE_BYTES for stride in cache.stride()[:3]):
        raise ValueError(f"cache strides {cache.stride()}: expected contiguous rows and multiples of 4 bytes")
    half = cache.shape[3] // 2
    packed = half - SCALE_BYTES
    words = cache.view(torch.float32)
    return CacheViews(
        key_bytes=cache[..., :packed],
        key_scales=words[..., packed // SCALE_BYTES],
        value_bytes=cache[..., half : half + packed],
        value_scales=words[..., (half + packed) // SCALE_BYTES],
    )
