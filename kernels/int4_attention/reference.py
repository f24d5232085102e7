"""Independent int4 quantization and attention in torch: what the kernels are judged by."""

from collections.abc import Sequence

import torch

from guardrail.kernels.int4_attention.cache_layout import CacheViews, cache_views


def quantize(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantize rows to asymmetric 4-bit integers, in fp32 arithmetic.

    Args:
        rows: [..., head size].

    Returns:
        Packed bytes, uint8 [..., head size / 2], and fp32 scales [...] that hide the zero point.
    """
    rows = rows.float()
    lowest, highest = rows.amin(-1), rows.amax(-1)
    scale = ((highest - lowest) / 15).clamp(min=1e-6)
    zero_point = _round_half_away(-lowest / scale).clamp(0, 15)
    levels = (
        _round_half_away(rows * (1 / scale)[..., None] + zero_point[..., None]).clamp(0, 15).to(torch.uint8)
    )
    pairs = levels.unflatten(-1, (-1, 2))
    hidden = (scale.view(torch.int32) >> 4 << 4) + zero_point.int()
    return pairs[..., 0] + 16 * pairs[..., 1], hidden.view(torch.float32)


def dequantize(packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Read quantized rows back.

    Args:
        packed: uint8 [..., head size / 2].
        scales: fp32 [...], with the zero point in the low 4 bits.

    Returns:
        float64 [..., head size].
    """
    levels = torch.stack([packed % 16, packed // 16], -1).flatten(-2)
    bits = scales.contiguous().view(torch.int32)
    zero_point = bits.remainder(16)
    scale = (bits - zero_point).view(torch.float32)
    return (levels.double() - zero_point.double()[..., None]) * scale.double()[..., None]


def round_trip(rows: torch.Tensor) -> torch.Tensor:
    """Quantize rows and read them back, in float64 throughout.

    Args:
        rows: [..., head size].

    Returns:
        float64 [..., head size]; scales keep the 4 bits that the cache takes for the zero point.
    """
    rows = rows.double()
    lowest, highest = rows.amin(-1, keepdim=True), rows.amax(-1, keepdim=True)
    scale = ((highest - lowest) / 15).clamp(min=1e-6)
    zero_point = _round_half_away(-lowest / scale).clamp(0, 15)
    return (_round_half_away(rows / scale + zero_point).clamp(0, 15) - zero_point) * scale


def write_cache(cache: torch.Tensor, key: torch.Tensor, value: torch.Tensor, slots: torch.Tensor) -> None:
    """Quantize keys and values into their slots.

    Args:
        cache: uint8 [blocks, KV heads, block size, row bytes]; written in place.
        key: [tokens, KV heads, head size].
        value: Shaped as `key`.
        slots: int64 [tokens]; negative slots are skipped.
    """
    views = cache_views(cache)
    kept = slots >= 0
    block, offset = slots[kept] // views.block_size, slots[kept] % views.block_size
    views.key_bytes[block, :, offset], views.key_scales[block, :, offset] = quantize(key[kept])
    views.value_bytes[block, :, offset], views.value_scales[block, :, offset] = quantize(value[kept])


def attention(
    queries: torch.Tensor,
    cache: CacheViews,
    block_table: torch.Tensor,
    query_lens: Sequence[int],
    seq_lens: Sequence[int],
    score_scale: float,
    window: int = 0,
    softcap: float = 0.0,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute causal attention over a cache in float64, one sequence after the other.

    Args:
        queries: Rotated queries, [tokens, query heads, head size]; tokens behind the last are padding.
        cache: Views of the cache.
        block_table: int32 [sequences, blocks of a sequence].
        query_lens: Query tokens of each sequence, the last ones of its keys.
        seq_lens: Keys of each sequence.
        score_scale: Factor on the product of query and key.
        window: Keys that a token sees at most, its own included; 0 for all.
        softcap: Bound of the scores; 0 for none.
        sinks: Scores without a value that take part in the softmax, [query heads].

    Returns:
        float64 [sum of query_lens, query heads, head size]; zeros where a token sees no key.
    """
    outputs = []
    first = 0
    group = queries.shape[1] // cache.kv_heads
    for sequence, (query_len, seq_len) in enumerate(zip(query_lens, seq_lens, strict=True)):
        query = queries[first : first + query_len].double()
        first += query_len
        position = torch.arange(max(seq_len, 0), device=queries.device)
        block = block_table[sequence].long()[position // cache.block_size]
        offset = position % cache.block_size
        key = dequantize(cache.key_bytes[block, :, offset], cache.key_scales[block, :, offset])
        value = dequantize(cache.value_bytes[block, :, offset], cache.value_scales[block, :, offset])
        key, value = key.repeat_interleave(group, 1), value.repeat_interleave(group, 1)
        score = torch.einsum("qhd,khd->hqk", query, key) * score_scale
        if softcap:
            score = softcap * torch.tanh(score / softcap)
        own = torch.arange(query_len, device=queries.device)[:, None] + (seq_len - query_len)
        visible = position[None, :] <= own
        if window:
            visible &= position[None, :] > own - window
        score = score.masked_fill(~visible, -torch.inf)
        if sinks is not None:
            score = torch.cat([score, sinks.double()[:, None, None].expand(-1, query_len, 1)], -1)
        weight = torch.softmax(score, -1)[..., :seq_len].nan_to_num(0.0)
        outputs.append(torch.einsum("hqk,khd->qhd", weight, value))
    return torch.cat(outputs)


def _round_half_away(x: torch.Tensor) -> torch.Tensor:
    return torch.copysign(torch.floor(x.abs() + 0.5), x)
