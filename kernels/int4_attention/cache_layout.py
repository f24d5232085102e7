"""The bytes of an int4 key-value cache, and the views that the kernels take of them."""

from dataclasses import dataclass

import torch

SCALE_BYTES = 4


@dataclass(frozen=True, slots=True)
class CacheViews:
    """A cache as 4-byte words, and what lies in them; none of it is a copy."""

    words: torch.Tensor
    """int32 [blocks, KV heads, block size, head size / 4 + 2]: ``[K | K scale | V | V scale]`` in a row."""

    @property
    def head_size(self) -> int:
        """Count the elements of one key."""
        return 4 * self.words.shape[3] - 8

    @property
    def kv_heads(self) -> int:
        """Count the KV heads."""
        return self.words.shape[1]

    @property
    def block_size(self) -> int:
        """Count the slots of one block."""
        return self.words.shape[2]

    @property
    def key_bytes(self) -> torch.Tensor:
        """Packed keys, uint8 [blocks, KV heads, block size, head size / 2]."""
        return self.words.view(torch.uint8)[..., : self.head_size // 2]

    @property
    def key_scales(self) -> torch.Tensor:
        """Key scales, fp32 [blocks, KV heads, block size]; the zero point in the low 4 bits."""
        return self.words.view(torch.float32)[..., self.head_size // 8]

    @property
    def value_bytes(self) -> torch.Tensor:
        """Packed values, shaped and strided as the keys."""
        first = self.head_size // 2 + SCALE_BYTES
        return self.words.view(torch.uint8)[..., first : first + self.head_size // 2]

    @property
    def value_scales(self) -> torch.Tensor:
        """Value scales, shaped and strided as the key scales."""
        return self.words.view(torch.float32)[..., self.head_size // 4 + 1]


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
    """View a cache as words.

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
    return CacheViews(cache.view(torch.int32))
