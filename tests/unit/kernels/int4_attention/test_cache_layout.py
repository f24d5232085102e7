import struct

import pytest
import torch

from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache, row_bytes


def test_a_row_of_head_size_256_has_264_bytes() -> None:
    assert row_bytes(256) == 264
    assert row_bytes(128) == 136
    assert make_cache(3, 4, 16, 256).shape == (3, 4, 16, 264)


def test_views_lie_in_the_order_key_scale_value_scale() -> None:
    cache = make_cache(2, 1, 2, 64)
    cache[1, 0, 1] = torch.arange(72, dtype=torch.uint8)
    views = cache_views(cache)
    assert views.head_size == 64
    assert views.block_size == 2
    assert views.kv_heads == 1
    assert views.key_bytes[1, 0, 1].tolist() == list(range(32))
    assert views.value_bytes[1, 0, 1].tolist() == list(range(36, 68))
    assert views.key_scales[1, 0, 1].item() == struct.unpack("<f", bytes(range(32, 36)))[0]
    assert views.value_scales[1, 0, 1].item() == struct.unpack("<f", bytes(range(68, 72)))[0]


def test_words_keep_the_strides_of_the_cache() -> None:
    token_major = torch.zeros(5, 16, 3, 136, dtype=torch.uint8).transpose(1, 2)
    views = cache_views(token_major)
    assert views.words.shape == (5, 3, 16, 34)
    assert views.words.stride() == (16 * 3 * 34, 34, 3 * 34, 1)
    assert views.head_size == 128


def test_views_share_the_cache_memory() -> None:
    cache = make_cache(1, 1, 2, 64)
    cache_views(cache).key_scales[0, 0, 1] = 1.0
    assert bytes(cache[0, 0, 1, 32:36].tolist()) == struct.pack("<f", 1.0)


def test_a_head_size_without_aligned_scales_is_refused() -> None:
    with pytest.raises(ValueError, match="head size 100: expected a positive multiple of 8"):
        row_bytes(100)


@pytest.mark.parametrize("cache", [torch.zeros(2, 1, 2, 72), torch.zeros(2, 2, 72, dtype=torch.uint8)])
def test_another_tensor_is_refused(cache: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="expected uint8"):
        cache_views(cache)


def test_unaligned_strides_are_refused() -> None:
    with pytest.raises(ValueError, match="multiples of 4 bytes"):
        cache_views(torch.zeros(2, 1, 2, 73, dtype=torch.uint8)[..., :72])
