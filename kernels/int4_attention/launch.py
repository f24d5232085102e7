"""Run the kernels on torch tensors; every output and scratch tensor is the caller's."""

from dataclasses import dataclass

import torch

from guardrail.kernels.int4_attention import tuning
from guardrail.kernels.int4_attention.attend import attend
from guardrail.kernels.int4_attention.attend_segments import attend_segments
from guardrail.kernels.int4_attention.cache_layout import CacheViews
from guardrail.kernels.int4_attention.reduce_segments import reduce_segments
from guardrail.kernels.int4_attention.write_cache import write_cache


@dataclass(frozen=True, slots=True)
class Batch:
    """One attention call: ragged queries over a paged cache."""

    queries: torch.Tensor
    """Rotated queries, [tokens, query heads, head size]; tokens behind the last sequence are padding."""
    cache: CacheViews
    block_table: torch.Tensor
    """int32 [sequences, blocks of a sequence]."""
    seq_lens: torch.Tensor
    """Keys of each sequence, int32 [sequences]."""
    query_starts: torch.Tensor
    """First token of each sequence and the end, int32 [sequences + 1] (``cu_seqlens_q``)."""
    max_query_len: int
    score_scale: float
    """Factor on the product of query and key."""
    window: int = 0
    """Keys that a token sees at most, its own included; 0 for all."""
    softcap: float = 0.0
    """Bound of the scores; 0 for none."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Partial results of the 3D arm, one row for each query token."""

    partials: torch.Tensor
    """fp32 [rows, query heads, segments, head size padded to a power of two]."""
    maxima: torch.Tensor
    """fp32 [rows, query heads, segments]."""
    exp_sums: torch.Tensor
    """fp32 [rows, query heads, segments]."""

    @property
    def segments(self) -> int:
        """Count the segments that a sequence is divided into."""
        return self.maxima.shape[2]


def run_2d(batch: Batch, output: torch.Tensor) -> None:
    """Compute attention in one pass.

    Args:
        batch: The call.
        output: [tokens, query heads, head size]; rows of padding tokens stay untouched.
    """
    blocks, rows = _query_blocks(batch)
    attend[(blocks, batch.cache.key_bytes.shape[1], batch.seq_lens.shape[0])](
        output,
        *_inputs(batch),
        batch.score_scale,
        *output.stride()[:2],
        *_input_strides(batch),
        **_launch_options(batch, rows),
    )


def run_3d(batch: Batch, output: torch.Tensor, scratch: Scratch) -> None:
    """Compute attention over segments and reduce them.

    Args:
        batch: The call.
        output: [tokens, query heads, head size]; rows of padding tokens stay untouched.
        scratch: At least one row for each token.
    """
    launch_segments(batch, scratch)
    launch_reduction(batch, output, scratch)


def launch_segments(batch: Batch, scratch: Scratch) -> None:
    """Write the partial results of every segment.

    Raises:
        ValueError: The scratch has fewer rows than the batch has tokens, or other heads or head size.
    """
    _check_scratch(batch, scratch)
    blocks, rows = _query_blocks(batch)
    grid = (blocks * scratch.segments, batch.cache.key_bytes.shape[1], batch.seq_lens.shape[0])
    attend_segments[grid](
        scratch.partials,
        scratch.maxima,
        scratch.exp_sums,
        *_inputs(batch),
        batch.score_scale,
        batch.queries.shape[1],
        *_input_strides(batch),
        **_launch_options(batch, rows),
        SEGMENTS=scratch.segments,
    )


def launch_reduction(batch: Batch, output: torch.Tensor, scratch: Scratch) -> None:
    """Combine the partial results into the outputs."""
    head_size = batch.cache.head_size
    reduce_segments[(batch.max_query_len, batch.queries.shape[1], batch.seq_lens.shape[0])](
        output,
        scratch.partials,
        scratch.maxima,
        scratch.exp_sums,
        batch.seq_lens,
        batch.query_starts,
        batch.queries.shape[1],
        *output.stride()[:2],
        HEAD_SIZE=head_size,
        HEAD_PADDED=tuning.padded(head_size),
        SEGMENTS=scratch.segments,
        SEGMENTS_PADDED=tuning.padded(scratch.segments),
        TILE=tuning.TILE,
    )


def run_write(key: torch.Tensor, value: torch.Tensor, slots: torch.Tensor, cache: CacheViews) -> None:
    """Quantize keys and values into the cache.

    Args:
        key: Rotated keys, [tokens, KV heads, head size].
        value: Rotated values, shaped as `key`.
        slots: Cache slot of each token, int64 [tokens]; a negative slot is skipped.
        cache: Views of the cache.
    """
    write_cache[(key.shape[0], key.shape[1])](
        key,
        value,
        slots,
        cache.key_bytes,
        cache.key_scales,
        cache.value_bytes,
        cache.value_scales,
        *key.stride()[:2],
        *value.stride()[:2],
        *cache.key_bytes.stride()[:3],
        *cache.key_scales.stride(),
        HEAD_SIZE=cache.head_size,
        HALF_PADDED=tuning.padded(cache.head_size) // 2,
        BLOCK_SIZE=cache.block_size,
        num_warps=tuning.WRITE_WARPS,
    )


def _group(batch: Batch) -> int:
    return batch.queries.shape[1] // batch.cache.key_bytes.shape[1]


def _query_blocks(batch: Batch) -> tuple[int, int]:
    needed = batch.max_query_len * _group(batch)
    rows = tuning.rows_of_program(needed, batch.cache.head_size)
    return -(-needed // rows), rows


def _inputs(batch: Batch) -> tuple[torch.Tensor, ...]:
    cache = batch.cache
    tensors = (cache.key_bytes, cache.key_scales, cache.value_bytes, cache.value_scales)
    return (batch.queries, *tensors, batch.block_table, batch.seq_lens, batch.query_starts)


def _input_strides(batch: Batch) -> tuple[int, ...]:
    cache = batch.cache
    queries = batch.queries.stride()[:2]
    return (*queries, batch.block_table.stride(0), *cache.key_bytes.stride()[:3], *cache.key_scales.stride())


def _launch_options(batch: Batch, rows: int) -> dict[str, int | float]:
    head_size = batch.cache.head_size
    return {
        "HEAD_SIZE": head_size,
        "HALF_PADDED": tuning.padded(head_size) // 2,
        "BLOCK_SIZE": batch.cache.block_size,
        "GROUP": _group(batch),
        "ROWS": rows,
        "TILE": tuning.TILE,
        "WINDOW": batch.window,
        "SOFTCAP": batch.softcap,
        "num_warps": tuning.WARPS,
        "num_stages": tuning.STAGES,
    }


def _check_scratch(batch: Batch, scratch: Scratch) -> None:
    tokens, heads, head_size = batch.queries.shape
    expected = (heads, scratch.segments, tuning.padded(head_size))
    if tuple(scratch.partials.shape[1:]) != expected:
        raise ValueError(f"partials {tuple(scratch.partials.shape)}: expected [rows, *{expected}]")
    for name in ("partials", "maxima", "exp_sums"):
        tensor = getattr(scratch, name)
        if tensor.shape[0] < tokens or not tensor.is_contiguous():
            raise ValueError(f"{name} {tuple(tensor.shape)}: expected {tokens} contiguous token rows or more")
